"""Several checks at once: in threads of one process, and in two processes."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import magneton_ir as mir
import torch


def scaled(scale):
    def function(x):
        return torch.relu(x) * scale

    return function


def test_threads_get_their_own_answers():
    x = torch.randn(4, 16)
    asked = [(i, j) for i in range(3) for j in range(3)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda pair: mir.check(scaled(pair[0] + 1), scaled(pair[1] + 1), (x,)), asked))
    assert [result.equivalent for result in results] == [i == j for i, j in asked]


def test_threads_may_record_at_once():
    x = torch.randn(4, 16)

    def peeking(scale):
        return lambda x: x * scale if float(x.sum()) != 0 else x

    with ThreadPoolExecutor(4) as pool:
        recordings = list(pool.map(lambda scale: mir.record(peeking(scale), x), range(1, 9)))
    for scale, recording in enumerate(recordings, 1):
        assert torch.equal(recording.program.module()(x), x * scale)


def test_two_processes_share_the_cache():
    script = (
        "import torch, magneton_ir as mir\n"
        "r = mir.check(lambda x: torch.relu(x) * 2, lambda x: 2 * x.relu(), (torch.zeros(4, 16),))\n"
        "print(r.verdict)"
    )
    processes = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=120)[0].strip() for process in processes] == ["equivalent"] * 2


def test_threads_may_save_at_once(tmp_path):
    x = torch.randn(4, 16)
    recordings = [mir.record(scaled(scale), x) for scale in range(1, 9)]
    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda i: recordings[i % 8].save(tmp_path / f"{i}.pt2"), range(64)):
            pass
    assert len(list(tmp_path.iterdir())) == 64


def test_a_thread_may_record_after_the_first_that_did_has_ended():
    script = (
        "import threading, torch\n"
        "def record():\n"
        "    import magneton_ir as mir\n"
        "    mir.record(lambda x: x * 2, torch.zeros(4))\n"
        "for _ in range(3):\n"
        "    thread = threading.Thread(target=record)\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "print('recorded')"
    )
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "recorded\n")
