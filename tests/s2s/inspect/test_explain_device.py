import numpy as np

import s2s


def mean_square(w, x, y):
    residual = x @ w - y
    return np.mean(residual * residual)


ARGS = (np.ones(4), np.ones((5, 4)), np.ones(5))


def test_launches_and_copies():
    f = s2s.grad(mean_square, target="cuda-emulated")
    found = f.explain(*ARGS).device
    assert found is not None and found.target == "cuda-emulated"
    assert found.launches > 0 and found.grids > 0 and found.synchronisations == 0
    assert found.copied_bytes == 8 * (4 + 20 + 5)
    text = str(f.explain(*ARGS))
    assert (
        "On the device (cuda-emulated)" in text
        and "no synchronisation before the end" in " ".join(text.split())
    )
    assert "copied in each call: arguments of 232 B, and the results back" in text
    assert "On threads" not in text


def test_arrays_on_the_device_are_not_copied():
    f = s2s.grad(mean_square, target="cuda-emulated")
    given = [s2s.to_device(a, "cuda-emulated") for a in ARGS]
    report = f.explain(*given)
    assert report.device is not None and report.device.copied_bytes == 0
    assert "copied in each call: nothing" in str(report)


def test_loops():
    def recurrence(x):
        h = 0.0
        for i in range(x.shape[0]):
            h = np.tanh(h + x[i])
        return h

    report = s2s.grad(recurrence, target="cuda-emulated").explain(np.ones(5))
    assert report.device is not None
    kinds = {loop.kind for loop in report.device.loops}
    assert kinds <= {"grid", "thread", "host"} and "thread" in kinds
    assert "--  one thread" in str(report)


def test_functions_on_the_cpu_have_no_such_part():
    report = s2s.grad(mean_square).explain(*ARGS)
    assert report.device is None and "On the device" not in str(report)
