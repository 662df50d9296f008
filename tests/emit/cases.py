"""Runs programs of one operator and compares what they give with what is expected: one JSON object a line, see
`tests/torch_agrees/emitted.rs`."""

import json
import sys
import warnings

import torch

warnings.filterwarnings("ignore")

DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
    "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2, "i64": torch.int64, "i32": torch.int32,
    "i16": torch.int16, "i8": torch.int8, "u64": torch.uint64, "u32": torch.uint32, "u16": torch.uint16,
    "u8": torch.uint8, "bool": torch.bool,
}  # fmt: skip


def number(text):
    return int(text) if text.lstrip("-").isdigit() else float(text)


def tensor(given):
    dtype = DTYPES[given["dtype"]]
    values = [number(v) for v in given["data"]]
    exact = torch.float64 if dtype.is_floating_point else torch.int64
    return torch.tensor(values, dtype=exact).to(dtype).reshape(given["shape"])


def fault(case):
    """What is wrong with a program; None if nothing is."""
    program = {}
    exec(compile(case["program"], "program", "exec"), program)
    results = program["forward"](*[tensor(given) for given in case["inputs"]])
    results = results if isinstance(results, tuple) else (results,)
    if len(results) != len(case["outputs"]):
        return f"{len(results)} results"
    for result, given in zip(results, case["outputs"]):
        if result.dtype != DTYPES[given["dtype"]] or list(result.shape) != given["shape"]:
            return f"gives {result.dtype}{list(result.shape)}, not {given['dtype']}{given['shape']}"
        wanted = torch.tensor([float(number(v)) for v in given["data"]], dtype=torch.float64)
        result = result.to(torch.float64).flatten()
        if case["open_order"]:
            wanted, result = wanted.sort().values, result.sort().values
        scale = max([1.0, *[abs(v) for v in wanted.tolist() if abs(v) != float("inf") and v == v]])
        close = (wanted == result) | (wanted.isnan() & result.isnan()) | ((wanted - result).abs() <= case["tolerance"] * scale)
        if not close.all():
            return f"gives {result.tolist()}, not {wanted.tolist()}"
    return None


def main():
    count, wrong = 0, []
    for line in open(sys.argv[1]):
        case = json.loads(line)
        count += 1
        try:
            reason = fault(case)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        if reason is not None:
            wrong.append(f"{case['name']}: {reason[:400]}")
    print(f"{count} programs, {len(wrong)} wrong")
    for line in wrong[:60]:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
