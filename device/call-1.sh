#!/bin/bash
# First call: is anything wrong?
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
call 1
