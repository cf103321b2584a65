#!/usr/bin/python3
"""Writes the files beside it whose lessons retell no notebook: what examples/course/NNN_name must print.

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


def masks():
    q = np.array([[1, 0], [0, 1], [1, 1], [-1, 0.5], [0.5, 2], [2, -1]])
    k = np.array([[1, 1], [2, 0], [0, 1], [-1, 1], [3, 3], [-2, 4.0]])
    v = np.array([[1, 0], [0, 1], [1, 1], [2, -1], [9, 9], [-9, 9.0]])
    i, j = np.mgrid[:6, :6]
    maps = [j < 4, j <= i, abs(i - j) <= 1, (j <= i) & (i - j <= 2)]
    rows = ["          ".join(" ".join("@" if seen else "." for seen in m[row]) for m in maps)
            for row in range(6)]
    scores = q[1:2] @ k.T / np.sqrt(2)
    padding = np.arange(6) >= 4
    masked = np.where(padding, -np.inf, scores)
    a = softmax(masked)
    cells = ["\n".join(rows), scores, softmax(scores), masked, a]
    cells += ["\n".join(f"{n:6g}: {softmax(scores + np.where(padding, n, 0))[0, 4:].sum():.2e}"
                        for n in (-1, -10, -100, -1000, -np.inf))]
    out = a[:, :4] @ v[:4]
    cells += [a, np.full((1, 2), np.nan), out, softmax(scores - 1e9), np.full((1, 6), np.nan),
              np.zeros((1, 6)), np.zeros((1, 2))]
    cells += [f"{f'{text} ='} {number:.17g}" for text, number in [
        ("(0.1 + 0.2) + 0.3", (0.1 + 0.2) + 0.3), ("0.1 + (0.2 + 0.3)", 0.1 + (0.2 + 0.3)),
        ("((0.1 + 0.2) + 0.3) + 0", (0.1 + 0.2) + 0.3)]]
    return cells + [out, out, out]


def backward_by_hand():
    def gradient(f, x, dy):
        """d sum(f(x) dy) / dx without a formula: a step along the imaginary axis has no rounding."""
        dx = np.zeros(x.shape)
        for at in np.ndindex(*x.shape):
            moved = x.astype(complex)
            moved[at] += 1e-30j
            dx[at] = (f(moved) * dy).sum().imag / 1e-30
        return dx

    def soft(x):
        return np.exp(x) / np.exp(x).sum(1, keepdims=True)

    def norm(x, gamma=1, beta=0):
        centred = x - x.mean(1, keepdims=True)
        return centred / np.sqrt((centred ** 2).mean(1, keepdims=True) + 1e-5) * gamma + beta

    def weights(q, k):
        return soft(q @ k.T / np.sqrt(q.shape[1]))

    x, dy = np.array([[1, 2, -1], [0, 0.5, 3]]), np.array([[1, -1, 0.5], [2, 0, -1]])
    w = np.array([[1, 0, 2], [-1, 1, 0], [0.5, 0.5, -0.5]])
    b, gamma, beta = np.array([[0.1, 0, -0.1]]), np.array([[1, 2, 0.5]]), np.array([[0, 0.1, -0.1]])
    linear = lambda x, w, b: x @ w.T + b
    cells = [linear(x, w, b), dy, gradient(lambda m: linear(m, w, b), x, dy),
             gradient(lambda m: linear(x, m, b), w, dy), gradient(lambda m: linear(x, w, m), b, dy),
             soft(x), gradient(soft, x, dy), norm(x, gamma, beta),
             gradient(lambda m: norm(m, gamma, beta), x, dy),
             gradient(lambda m: norm(x, m, beta), gamma, dy),
             gradient(lambda m: norm(x, gamma, m), beta, dy)]
    q, k = np.array([[1, 0], [0, 2], [-1, 1.0]]), np.array([[1, 1], [0, -1], [2, 0.0]])
    v, d_o = np.array([[1, 0], [0, 1], [2, -1.0]]), np.array([[1, 0.5], [-1, 0], [0, 2]])
    cells += [weights(q, k), gradient(lambda m: m @ v, weights(q, k), d_o),
              gradient(lambda m: weights(q, k) @ m, v, d_o),
              gradient(lambda m: weights(m, k) @ v, q, d_o),
              gradient(lambda m: weights(q, m) @ v, k, d_o)]
    total = lambda m: m + weights(m, m) @ m
    return cells + [norm(total(x)), gradient(norm, total(x), dy),
                    gradient(lambda m: norm(total(m)), x, dy)]


def positions():
    def angles(places, width):
        return np.outer(places, 10000 ** (-np.arange(0, width, 2) / width))

    def sines(places, width):
        return np.stack([f(angles(places, width)) for f in (np.sin, np.cos)], 2).reshape(-1, width)

    def turned(x, places):
        pairs = (x[:2] + 1j * x[2:]) * np.exp(1j * angles(places, 4))
        return np.hstack([pairs.real, pairs.imag])

    picture = "\n".join("".join(" .:+@"[int(round((v + 1) * 2))] for v in row)
                        for row in sines(np.arange(24), 64))
    first, d = np.array([0, 7, 30]), np.arange(6)
    by_distance = np.repeat(np.cos(angles(d, 8)).sum(1)[:, None], 3, 1)
    query, key = np.array([1, 0.5, 0, -1]), np.array([0.5, 1, 1, 0])
    rotary = np.array([[turned(query, [m])[0] @ turned(key, [m + n])[0] for m in first] for n in d])
    added = np.array([[(query + sines([m], 4)[0]) @ (key + sines([m + n], 4)[0]) for m in first]
                      for n in d])
    five = np.arange(5)
    lengths = np.linalg.norm([turned(query, five), query + sines(five, 4)], axis=2)
    return [sines(np.arange(6), 8), picture, by_distance, by_distance, query[None],
            turned(query, five), key[None], rotary, added, lengths]


def one_head():
    x = np.array([[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1.0]])
    q = x @ np.array([[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]])
    k = x @ np.array([[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]])
    v = x @ np.array([[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]])
    scores = q @ k.T
    weights = softmax(scores / np.sqrt(3), 1)
    return [x, q, k, v, scores, scores / np.sqrt(3), weights, softmax(scores, 1), (weights @ v)[0],
            weights @ v]


def scale():
    x = np.array([0.3, -1.1, 0.8, 1.5, -0.4, 0.1, -0.9, 0.6])
    deviations = []
    for d in (1, 4, 9, 16):
        keys = np.array(np.meshgrid(*[[-1, 1]] * d)).reshape(d, -1)
        deviations.append(f"d = {d:2}: from {-d:3} to {d:2}, deviation {keys.sum(0).std():.4f}")

    def entropy(scale):
        w = softmax(scale * x)
        return -(w * np.log(w)).sum()

    cells = deviations
    for s in (0, 0.5, 1, 2, 4, 8, 16, 32):
        w = softmax(s * x)
        slope = np.linalg.norm(np.diag(w) - np.outer(w, w))
        cells.append(f"scale {s:4g}: {w.max():7.4f} {entropy(s):7.4f} {slope:.2e}")
    for d in (1, 4, 16, 64, 256, 1024):
        cells.append(f"d = {d:4}: not divided {entropy(d ** 0.5):.4f}, divided by sqrt(d) "
                     f"{entropy(1):.4f}, divided by d {entropy(d ** -0.5):.4f}")
    return cells


def heads():
    x = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, -1, 0], [0, 1, 0, -1.0]])
    q = x @ np.array([[4, 0, 0, 0], [0, 4, 0, 0], [0, 0, 0, -4], [0, 0, 4, 0]])
    v = x @ np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
    w_o = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, -1]])
    columns = [slice(0, 2), slice(2, 4)]
    weights = [softmax(q[:, c] @ x[:, c].T / np.sqrt(2), 1) for c in columns]
    outputs = [w @ v[:, c] for w, c in zip(weights, columns)]
    parts = [o @ w_o[c] for o, c in zip(outputs, columns)]
    return [x, q, q[:, 2:], *weights, softmax(q @ x.T / 2, 1), np.hstack(outputs),
            parts[0] + parts[1], *parts]


def strided_tensor():
    x = np.arange(12.0).reshape(3, 4)

    def rule(code, view, of):
        offset = (view.ctypes.data - of.ctypes.data) // 8 if np.shares_memory(view, of) else 0
        kind = "a view" if np.shares_memory(view, of) else "a copy"
        strides = str(tuple(s // 8 for s in view.strides))
        return f"{code:24} shape {view.shape}, strides {strides}, offset {offset}: {kind}"

    row = np.broadcast_to(x[2], (3, 4))
    means = x.mean(1, keepdims=True)
    views = [("x", x), ("x.t()", x.T), ("x.slice(1, 1, 3)", x[:, 1:3]), ("x.slice(0, {}, {}, -1)", x[::-1]),
             ("x.select(1, 2)", x[:, 2]), ("x.select(0, 2)", x[2]), ("    .expand({3, 4})", row)]
    cells = [f"{rule(code, view, x)}\n{view}" for code, view in views]
    written = x.copy()
    written.T[1] = -1
    wide = np.broadcast_to(means, (3, 4))
    copies = [("x.reshape({2, 6})", x.reshape(2, 6)), ("x.t().reshape({2, 6})", x.T.reshape(2, 6)),
              ("x.t().contiguous()", np.ascontiguousarray(x.T))]
    return cells + [written, f"{rule('    .expand({3, 4})', wide, means)}\n{wide}", x - means,
                    "\n".join(rule(code, y, x) for code, y in copies),
                    rule("k.t()", (k := np.zeros((512, 64))).T, k)]


def a_tape_in_60_lines():
    x, w1, w2 = np.array([[1, 0.5], [-1, 2]]), np.array([[0.5, -1], [1, 0]]), np.array([[1], [-0.5]])
    h = np.tanh(x @ w1)
    y = (x + h) @ w2
    dy = 2 * y
    dr = dy @ w2.T
    ds = dr * (1 - h * h)
    doublings = f"paths from h to x: {2 ** 20}, nodes: 21, dx: {2 ** 20}"
    return [np.array(1.0), np.ones((2, 1)), dy, (x + h).T @ dy, dr, dr, ds, x.T @ ds, dr + ds @ w1.T, doublings]


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    lessons = {1: strided_tensor, 2: one_head, 3: scale, 4: heads, 5: positions, 6: a_layer_by_hand, 7: masks,
               11: a_tape_in_60_lines, 12: backward_by_hand}
    for number, lesson in lessons.items():
        cells = "\n\n".join(str(cell) for cell in lesson())
        (folder / f"{number:03}_{lesson.__name__}.txt").write_text(cells + "\n")


main()
