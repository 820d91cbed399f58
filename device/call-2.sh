#!/bin/bash
# Second call: the sweep, what is called most often first.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
call 2
