#!/usr/bin/python3
"""Writes the files beside it whose lessons retell no notebook: what examples/NNN_name must print.

    /usr/bin/python3 tests/programs/notebooks/make_lessons.py [folder]

NumPy computes it from the formulas, on whole arrays; nothing here comes from the library.
"""

import pathlib
import sys

import numpy as np

sys.dont_write_bytecode = True
from make_cells import softmax

np.set_printoptions(precision=4, suppress=True)


def layer_norm(x, gamma, beta):
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * gamma + beta


def a_layer_by_hand():
    w_q = np.array([[1, 0, 0.5, 0], [0, 1, 0, -0.5], [0.5, 0, 1, 0], [0, -1, 0, 0.5]])
    w_k = np.array([[0.5, 0.5, 0, 0], [0, 1, 0, 1], [1, 0, -0.5, 0], [0, 0.5, 0.5, 0]])
    w_v = np.array([[1, 0, 0, 0.5], [0, 1, 0.5, 0], [0, -0.5, 1, 0], [0.5, 0, 0, 1]])
    b_q, b_k, b_v = np.array([0, 0.1, 0, -0.1]), np.array([0.2, 0, 0, 0]), np.array([0, 0, 0.1, 0])
    w_o = np.array([[1, 0, 0.5, 0], [0, 1, 0, 0.5], [0.5, 0, -1, 0], [0, 0.5, 0, -1]])
    b_o = np.array([0.1, 0, 0, -0.1])
    w_1 = np.array([[1, 0, 0, -1], [0, 1, -1, 0], [0.5, 0.5, 0.5, 0.5],
                    [-1, 0, 0, 1], [0, -1, 1, 0], [1, -1, 1, -1]])
    b_1 = np.array([0, 0, 0.2, 0, 0, -0.2])
    w_2 = np.array([[0.5, 0, 1, 0, 0, 0], [0, 0.5, 1, 0, 0, 0], [0, 0, -1, 0.5, 0, 0.5],
                    [0, 0, -1, 0, 0.5, 0]])
    b_2 = np.array([0, 0, 0, 0.1])
    norm1 = lambda x: layer_norm(x, np.array([1, 1, 2, 0.5]), np.array([0, 0.1, 0, -0.1]))
    norm2 = lambda x: layer_norm(x, 1, 0)
    feed_forward = lambda x: np.maximum(x @ w_1.T + b_1, 0) @ w_2.T + b_2

    def attention(x):
        q, k, v = x @ w_q.T + b_q, x @ w_k.T + b_k, x @ w_v.T + b_v
        heads = [slice(0, 2), slice(2, 4)]
        weights = [softmax(q[:, h] @ k[:, h].T / np.sqrt(2), 1) for h in heads]
        output = np.hstack([a @ v[:, h] for a, h in zip(weights, heads)]) @ w_o.T + b_o
        return weights, output

    def post_layer(x):
        y = norm1(x + attention(x)[1])
        return norm2(y + feed_forward(y))

    def pre_layer(x):
        y = x + attention(norm1(x))[1]
        return y + feed_forward(norm2(y))

    x = np.array([[1, 0, 0.5, -1], [0, 2, 0, 1], [0.5, -1, 1, 0]])
    weights, attended = attention(x)
    total = x + attended
    centred = total[:1] - total[:1].mean()
    y = norm1(total)
    inner = y @ w_1.T + b_1
    cells = [x, *weights, attended, total, centred, norm2(total[:1]), y, inner,
             np.maximum(inner, 0), feed_forward(y), post_layer(x), post_layer(x)]
    y = x + attention(norm1(x))[1]
    cells += [norm1(x), y, pre_layer(x), pre_layer(x)]
    for name, layer in ("post-norm", post_layer), ("pre-norm ", pre_layer):
        z, line = x, name
        for _ in range(6):
            z = layer(z)
            line += f" {z[0].std():.3f}"
        cells.append(line)
    return cells


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for number, lesson in (5, a_layer_by_hand),:
        cells = "\n\n".join(str(cell) for cell in lesson())
        (folder / f"{number:03}_{lesson.__name__}.txt").write_text(cells + "\n")


main()
