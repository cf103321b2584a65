#!/usr/bin/python3
"""Writes the files beside it: the arrays that the numbered examples must print, by NumPy.

    /usr/bin/python3 tests/programs/notebooks/make_cells.py [folder]

Nothing here comes from the library: what the notebooks compute is computed again as they do it, and
random numbers are drawn from a second writing of the generator. Cells under "The notebook's." are
those that the notebook shows; the others carry its computation on, or draw where it draws unseeded.
"""

import pathlib
import sys

import numpy as np


def softmax(x, axis=None):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def attention_weights(q, k, scale):
    return softmax(q @ k.T * scale, axis=1)


class Philox:
    """Philox4x32-10 (Salmon et al., 2011) and the float64 draws of tessera::rand and uniform."""

    def __init__(self, seed):
        self.seed, self.next_block = seed, 0

    def block(self, index):
        c = [index & 0xFFFFFFFF, index >> 32, 0, 0]
        k = [self.seed & 0xFFFFFFFF, self.seed >> 32]
        for _ in range(10):
            p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(q >> 32) ^ c[1] ^ k[0], q & 0xFFFFFFFF, (p >> 32) ^ c[3] ^ k[1], p & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        return c

    def rand(self, shape):
        n = int(np.prod(shape))
        words = []
        for _ in range((n + 1) // 2):
            a, b, c, d = self.block(self.next_block)
            words += [a | b << 32, c | d << 32]
            self.next_block += 1
        return np.array([(w >> 11) * 2.0**-53 for w in words[:n]]).reshape(shape)

    def uniform(self, shape, low, high):
        return low + (high - low) * self.rand(shape)


class Cells:
    """The cells of one example, in the order in which they are printed."""

    def __init__(self):
        self.text, self.heading = "", None

    def add(self, heading, cells):
        if heading != self.heading:
            self.text += f"# {heading}\n\n"
            self.heading = heading
        self.text += "".join(f"{cell}\n\n" for cell in cells)

    def notebook(self, *cells):
        self.add("The notebook's.", cells)

    def ours(self, *cells):
        self.add("Not in the notebook.", cells)


X = np.array([[1.0, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
W_QUERY = np.array([[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]])
W_KEY = np.array([[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]])
W_VALUE = np.array([[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]])


def positions(count, width, exponent):
    angle = lambda pos, i: pos / 10000 ** exponent(i)
    return np.array([[np.cos(angle(pos, i)) if i % 2 else np.sin(angle(pos, i))
                      for i in range(width)] for pos in range(count)])


def three_inputs():
    cells = Cells()
    pe = positions(11, 512, lambda i: 2 * (i - i % 2) / 512)
    cells.ours(np.array2string(pe, suppress_small=True))
    for table in pe, positions(11, 512, lambda i: (i - i % 2) / 512):
        unit = table / np.linalg.norm(table, axis=1, keepdims=True)
        cells.ours(unit @ unit[2])
    y = Philox(0).uniform((3, 512), -0.05, 0.05)
    with_positions = y * np.sqrt(512) + pe[:3]
    cells.ours(y, with_positions, with_positions)

    q, k, v = X @ W_QUERY, X @ W_KEY, X @ W_VALUE
    cells.notebook(X, W_QUERY, W_KEY, W_VALUE, q, k, v, q @ k.T)
    a = attention_weights(q, k, 1)
    cells.notebook(a[0])
    cells.ours(a[1], a[2])
    cells.notebook(v[0], v[1], v[2], a[0, 0] * v[0], a[0, 1] * v[1], a[0, 2] * v[2], a[0] @ v)
    cells.ours(a @ v)
    cells.ours(Philox(8).rand((3, 64)))
    return cells


def ten_steps():
    cells = Cells()
    q, k, v = X @ W_QUERY, X @ W_KEY, X @ W_VALUE
    cells.notebook(X.shape, W_QUERY.shape, W_KEY.shape, W_VALUE.shape)
    cells.notebook(q, q.shape, k, k.shape, v, v.shape, q @ k.T, (q @ k.T).shape)

    side = np.array([[1, 0.5, 0.2, 3], [1, -1, 7, 3], [2, 12, 13, 3]])
    cells.notebook(repr(softmax(side)), softmax(side).sum())
    for axis in 0, 1:
        m = softmax(side, axis)
        cells.notebook(repr(m), repr(m.sum(axis=axis)))

    a = attention_weights(q, k, 1)
    cells.notebook(a[0], a[1], a[2], a[0].sum(), a[1].sum(), a[2].sum())
    cells.notebook(v[0], v[1], v[2], a[0, 0] * v[0], a[0, 1] * v[1], a[0, 2] * v[2], a[0] @ v)
    cells.ours(a @ v)

    rng = Philox(8)
    cells.ours(rng.rand((3, 64)))
    heads = [rng.rand((3, 64)) for _ in range(8)]
    cells.notebook("shape of one head (3, 64) dimension of 8 heads 512")
    cells.ours(np.hstack(heads), "(3, 512)", np.hstack(heads))
    return cells


def hello_world():
    cells = Cells()
    np.set_printoptions(suppress=True)
    e = np.array([[1.0, 2, 3, 4], [2, 3, 4, 5]])
    pe = positions(2, 4, lambda i: 2 * i / 4)
    cells.notebook(repr(pe), e, pe, e + pe)
    e = e + pe
    cells.ours(e)
    wk1 = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1], [0, 1, 0]])
    wv1 = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 1], [0, 1, 0]])
    wq1 = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
    wk2 = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0]])
    wv2 = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1], [1, 0, 0]])
    wq2 = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]])
    outputs = []
    for wk, wv, wq in (wk1, wv1, wq1), (wk2, wv2, wq2):
        k, v, q = e @ wk, e @ wv, e @ wq
        a = attention_weights(q, k, 1 / np.sqrt(3))
        outputs.append(a @ v)
        cells.ours(k, v, q, q @ k.T / np.sqrt(3), np.array2string(a, suppress_small=False), a @ v)
    cells.ours(np.concatenate(outputs, axis=1), "(2, 6)", np.stack(outputs))
    np.set_printoptions(suppress=False)
    return cells


def the_cat_chased_the_mouse():
    cells = Cells()
    cells.notebook(*(f"{name} shape: {shape}" for name, shape in [
        ("Queries", (10, 64)), ("Keys", (10, 64)), ("Values", (10, 64)),
        ("Attention scores", (10, 10)), ("Attention weights", (10, 10)), ("Output", (10, 64))]))
    np.set_printoptions(precision=4)
    words = ["The", "cat", "chased", "the", "mouse"]
    x = np.array([[0.5488135, 0.71518937, 0.60276338, 0.54488318],
                  [0.4236548, 0.64589411, 0.43758721, 0.891773],
                  [0.96366276, 0.38344152, 0.79172504, 0.52889492],
                  [0.56804456, 0.92559664, 0.07103606, 0.0871293],
                  [0.0202184, 0.83261985, 0.77815675, 0.87001215]])
    w_q = np.array([[0.48072, 0.75783, 0.09787, 0.32788], [0.34346, 0.77424, 0.23813, 0.94661],
                    [0.97482, 0.12633, 0.52015, 0.02059], [0.83278, 0.05954, 0.77783, 0.7347]])
    w_k = np.array([[0.39425, 0.0263, 0.33325, 0.24782], [0.82203, 0.11588, 0.20945, 0.69534],
                    [0.68562, 0.98761, 0.60024, 0.01877], [0.36033, 0.10924, 0.05032, 0.60896]])
    w_v = np.array([[0.1899, 0.2708, 0.2481, 0.6742], [0.9074, 0.2708, 0.0867, 0.4333],
                    [0.7368, 0.1512, 0.5244, 0.8585], [0.0984, 0.3301, 0.2363, 0.119]])
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    cells.notebook(*(f"{word}: {row}" for word, row in zip(words, x)))
    lines = [f"{word} - Query: {q[i]}, Key: {k[i]}, Value: {v[i]}" for i, word in enumerate(words)]
    cells.notebook(*lines)  # of the last line, the notebook shows the query and the key
    a = attention_weights(q, k, 0.5)
    for rows in a, a @ v, a @ v:
        cells.ours(*(f"{word}: {row}" for word, row in zip(words, rows)))
    np.set_printoptions(precision=8)
    return cells


def encoder_decoder_attention():
    cells = Cells()
    h_e = np.array([[0.64, -0.27, 0.89, -0.12], [-0.45, 0.33, 0.71, 0.08],
                    [0.19, -0.94, 0.56, 0.37], [0.03, 0.85, -0.41, 0.76]])
    h_d = np.array([[0.58, -0.13, 0.94, 0.22], [0.45, 0.11, -0.88, 0.67]])
    scores = h_e @ h_d[1]
    a = softmax(scores / 2)
    cells.notebook(h_d.shape, repr(scores), "n = 4", repr(scores / 2), repr(a))
    cells.notebook(repr(sum(a * h_e)))  # its bug: weight j scales column j
    cells.ours(repr(a @ h_e), repr(a @ h_e), repr((a @ h_e)[np.newaxis]))

    w_q = np.array([[0.12, -0.87, 0.33, 0.45], [0.76, 0.21, -0.34, 0.67],
                    [-0.55, 0.18, 0.29, -0.73], [0.03, -0.99, 0.42, 0.11]])
    w_k = h_e
    w_v = np.array([[0.58, -0.13, 0.94, 0.22], [-0.31, 0.66, -0.74, 0.09],
                    [0.45, 0.11, -0.88, 0.67], [-0.92, 0.37, 0.28, -0.50]])
    x = np.array([[0.12, -0.87, 0.33, 0.45], [0.76, 0.21, -0.34, 0.67], [0.03, -0.99, 0.42, 0.11]])
    q, k, v = x[1:2] @ w_q, x @ w_k, x @ w_v
    a = attention_weights(q, k, 0.5)
    cells.notebook(repr(x), "n = 4", q[0].shape, repr(q), q.shape, repr(k), k.T.shape, repr(v))
    cells.notebook(repr(a), repr(a @ v))
    cells.ours(repr(a @ v))

    for w in w_q, w_k, w_v:
        cells.notebook(repr(w), repr(w[:, :2]), repr(w[:, 2:]))
    cells.notebook((4, 4))

    heads = []
    for columns in slice(0, 2), slice(2, 4):
        a = attention_weights((x @ w_q)[:, columns], k[:, columns], 1 / np.sqrt(2))
        heads.append(a @ v[:, columns])
        cells.ours(repr(heads[-1]))
    w_o = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 0, -1, 0], [0, 1, 0, -1]])
    cells.ours(repr(np.concatenate(heads, axis=1)))
    cells.notebook(w_o.shape)
    cells.ours(*2 * [repr(np.concatenate(heads, axis=1) @ w_o)])
    cells.notebook("Dimension mismatch: encoder = 4, decoder = 3")
    cells.ours("matmul: inner dimensions must be equal, got (4, 4) x (3,)")
    return cells


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    examples = [three_inputs, ten_steps, hello_world, the_cat_chased_the_mouse,
                encoder_decoder_attention]
    for i, example in enumerate(examples):
        text = example().text.rstrip("\n") + "\n"
        (folder / f"{i:03}_{example.__name__}.txt").write_text(text)


if __name__ == "__main__":
    main()
