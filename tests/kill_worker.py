"""Runs a command in a child process, kills it at random moments, and at last lets it end.

python kill_worker.py KILLS SEED SECONDS ARGUMENT ...

The children are forked, so that each begins at once: what is tried is the command, not Python's start.
"""

import os
import random
import signal
import sys
import time
import traceback

from pocketkernel.cli import main


def child(arguments):
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = main(arguments)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return pid


def run(kills, seed, seconds, *arguments):
    moments = random.Random(int(seed))
    killed = 0
    for turn in range(1, int(kills) + 1):
        pid = child(list(arguments))
        # The first ones early: SECONDS may have been measured while the machine was slower.
        time.sleep(moments.uniform(0.02, float(seconds) * turn / int(kills)))
        os.kill(pid, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    code = os.waitstatus_to_exitcode(os.waitpid(child(list(arguments)), 0)[1])
    print(f"killed {killed}")
    return code


if __name__ == "__main__":
    raise SystemExit(run(*sys.argv[1:]))
