from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_store_and_the_judgement_load_no_torch_and_no_asv():
    program = (
        "import sys, results.commands.show, results.commands.judging.gate, results.commands.ingest\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "sys.exit(' '.join(loaded & {'torch', 'asv', 'dash', 'scipy', 'alembic'}) or 0)"
    )
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
