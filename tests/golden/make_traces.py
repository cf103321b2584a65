#!/usr/bin/python3
"""Writes the traces beside it: the steps of golden encoders, by PyTorch in float32.

    /usr/bin/python3 tests/golden/make_traces.py [folder]

The weights and inputs are those of the .npz file of the same name; examples/programs/trace_encoder.py does
the rest.
"""

import pathlib
import sys

import numpy as np
import torch

HERE = pathlib.Path(__file__).parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent.parent / "examples/programs"))
import trace_encoder  # noqa: E402

NAMES = ("encoder_post_relu_none_36", "encoder_pre_gelu_causal_padding_8")


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for name in NAMES:
        golden = {key: torch.from_numpy(value) for key, value in np.load(HERE / f"{name}.npz").items()}
        encoder = trace_encoder.make_encoder(
            {key[len("state."):]: value for key, value in golden.items() if key.startswith("state.")},
            int(golden["option.nhead"]), "gelu" if golden["option.gelu"] else "relu",
            bool(golden["option.norm_first"]), float(golden["option.layer_norm_eps"]))
        steps = trace_encoder.trace(encoder, golden["input.src"], golden.get("input.mask"),
                                    golden.get("input.src_key_padding_mask"))
        trace_encoder.write(folder / f"{name}.trace.txt", steps)


if __name__ == "__main__":
    main()
