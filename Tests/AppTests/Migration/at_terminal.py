"""Runs a program on a terminal and answers its prompts: at_terminal.py ANSWERS PROGRAM ARGUMENT...

Answers are separated by commas. "end" ends the input, as does the last answer.
"""

import os
import pty
import signal
import sys

answers = sys.argv[1].split(",")
signal.alarm(60)
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
output = b""
asked = 0
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:  # The program has ended.
        break
    if not piece:
        break
    output += piece
    while output.count(b"[y/N]") > asked:
        answer = answers[asked] if asked < len(answers) else "end"
        os.write(terminal, b"\x04" if answer == "end" else answer.encode() + b"\n")
        asked += 1
_, status = os.waitpid(child, 0)
sys.stdout.buffer.write(output.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(status))
