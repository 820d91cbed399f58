#!/bin/bash
# Third call: why is it so? The worst points, inductor's autotuning, profiles, the article's cases, asv.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
call 3
