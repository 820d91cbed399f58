# Sourced by the three calls: what a bare machine needs is put beside the checkout, and what it is gets said.
set -euo pipefail
began=$(date +%s)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
bundle="$here/bundle"
# Names that nobody else sets: what is called OUT, DEVICE or PYTHON may be the machine's own.
python=${FUSEBENCH_PYTHON:-python3}
device=${FUSEBENCH_DEVICE:-cuda}

die() {
    echo "$*" >&2
    exit 64
}

[ -f "$bundle/COMMIT" ] || die "$bundle is missing: make gpu-half-hour at home, and carry the folder device whole"
(cd "$root" && sha256sum --status --check "$bundle/files.sha256") ||
    die "some files differ from commit $(cat "$bundle/COMMIT"): make gpu-half-hour again, after committing them"

# A checkout of the commit itself, where there is git: what was carried has no history, or one of another commit.
commit=$(cat "$bundle/COMMIT")
head_of() { git -C "$1" rev-parse --verify --quiet HEAD 2>/dev/null || true; }
if command -v git >/dev/null && [ "$(head_of "$root")" != "$commit" ]; then
    checkout="$here/checkout"
    if [ ! -d "$checkout/.git" ] || [ "$(head_of "$checkout")" != "$commit" ]; then
        rm -rf "$checkout"
        git clone --quiet --no-checkout "$bundle/fusebench.bundle" "$checkout" &&
            git -C "$checkout" checkout --quiet --detach "$commit" || rm -rf "$checkout"
    fi
    if [ -d "$checkout" ]; then
        root="$checkout"
    else
        echo "no checkout of $commit could be made: the files are measured as they were carried, without asv" >&2
    fi
fi

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || die "$python does not run"
wanted=$(cat "$bundle/PYTHON")
[ "$version" = "$wanted" ] ||
    die "the bundle is for Python $wanted and $python is $version: make gpu-half-hour BUNDLE_PYTHON=$version at home"

# Beside the machine's own packages, which keep their torch and triton.
if [ ! -f "$here/site/installed" ]; then
    if "$python" -c 'import pip' 2>/dev/null; then
        "$python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-compile \
            --no-index --find-links "$bundle/wheels" --target "$here/site" --upgrade -r "$bundle/requirements.txt"
    else # as in an environment that uv made
        for wheel in "$bundle"/wheels/*.whl; do "$python" -m zipfile -e "$wheel" "$here/site"; done
    fi
    touch "$here/site/installed"
fi
# These kernels are measured, whatever is installed.
export PYTHONPATH="$root/kernels:$here/site${PYTHONPATH:+:$PYTHONPATH}" PATH="$here/site/bin:$PATH"

# Caches that may be written to; Triton's is filled at home.
export TRITON_CACHE_DIR="$here/cache/triton" TORCHINDUCTOR_CACHE_DIR="$here/cache/inductor"
if [ ! -d "$TRITON_CACHE_DIR" ] && [ -d "$bundle/triton-cache" ]; then
    mkdir -p "$here/cache" && cp -r "$bundle/triton-cache" "$TRITON_CACHE_DIR"
fi

# Where git does not know: which commit these files are. Nobody asks for the machine's name either.
FUSEBENCH_COMMIT=$commit
if [ -z "${FUSEBENCH_MACHINE:-}" ]; then
    # A driver in trouble answers after minutes, or never.
    asked="--query-gpu=name,mig.mode.current --format=csv,noheader"
    # shellcheck disable=SC2086 # two options
    gpu=$(timeout 30 nvidia-smi $asked 2>/dev/null | head -n 1) || gpu=
    case ${gpu%%,*} in
    '') die "nvidia-smi names no GPU; say FUSEBENCH_MACHINE=<name> if this is the machine to measure" ;;
    "NVIDIA H100" | "NVIDIA H100 80GB HBM3") FUSEBENCH_MACHINE=h100 ;;
    "NVIDIA H200") FUSEBENCH_MACHINE=h200 ;;
    # Others that are called so have another memory, clock or processor, and are machines of their own.
    *) FUSEBENCH_MACHINE=$(echo "${gpu%%,*}" | sed 's/^NVIDIA //' | tr 'A-Z ' 'a-z-' | tr -dc 'a-z0-9-') ;;
    esac
    case $gpu in *Enabled) FUSEBENCH_MACHINE+=-mig ;; esac
fi
export FUSEBENCH_COMMIT FUSEBENCH_MACHINE

campaign() {
    (cd "$root" && "$python" -u -m benchmarks.ruler.campaign "$@" --device "$device")
}

# What earlier calls have brought home, if this machine is another one; a kill in between leaves no mark.
state=$(cd "$root" && realpath -m "${FUSEBENCH_DATA:-results/data/local}/campaign/$device")
for archive in "$here"/archive/*.tar.gz; do
    mark="$state/$(basename "$archive").unpacked"
    if [ -f "$archive" ] && [ ! -f "$mark" ]; then
        campaign unpack "$archive"
        mkdir -p "$state" && touch "$mark"
    fi
done

# What kernels are launched by is compiled beside the first measurements; once compiled, that is nothing to do.
build='
from sys import argv
from fused_mlp.native.build import ensure_built, ensure_calls_built
if argv[1] == "cpu":
    ensure_built()
else:
    print(ensure_calls_built() or "calls: built")
    from fused_mlp.mlp.cuda_example import ensure_built as ensure_cuda_built
    ensure_cuda_built()
'
mkdir -p "$state"
(cd "$root/kernels" && nice "$python" -c "$build" "$device" >"$state/build.txt" 2>&1) &

# Archive and table go to OUT, which may be emptied before each call: nothing else is kept there.
call() {
    if [ -n "${OUT:-}" ]; then
        mkdir -p "$OUT"
        OUT=$(realpath "$OUT")
    fi
    campaign "call-$1" --began "$began" ${FUSEBENCH_MINUTES:+--minutes "$FUSEBENCH_MINUTES"} ${OUT:+--copy-to "$OUT"}
}
