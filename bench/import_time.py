"""The time of `import minidynamo` beyond `import torch`: fresh processes in turns, medians.

python bench/import_time.py [--rounds 7]
"""

import argparse
import statistics
import subprocess
import sys

from measure import machine

PROGRAM = """
import time, torch
began = time.perf_counter()
import minidynamo
print(time.perf_counter() - began)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    times = [
        float(subprocess.run([sys.executable, "-P", "-c", PROGRAM], capture_output=True, text=True, check=True).stdout)
        for _ in range(arguments.rounds)
    ]
    print(machine())
    middle, least, most = (function(times) * 1e3 for function in (statistics.median, min, max))
    print(f"\nimport minidynamo after torch: {middle:.1f} ms ({least:.1f} to {most:.1f})")


if __name__ == "__main__":
    main()
