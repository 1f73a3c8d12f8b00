"""Numbers in text: many at a time are read as float reads one, and written as shortly as numpy writes one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fipp.io.formats._text_block import parse_block
from fipp.io.formats._text_writer import float32_rows


def parsed(fields, dtype=np.float64):
    block = parse_block(b"".join(b"w %b\n" % field.encode() for field in fields), 1, dtype)
    assert block.odd == []
    return block.matrix[:, 0]


def by_python(fields, dtype=np.float64):
    return np.array([float(field) for field in fields]).astype(dtype)


DECIMALS = st.builds(
    lambda sign, whole, fraction, exponent: sign + whole + fraction + exponent,
    st.sampled_from(["", "-", "+"]),
    st.text("0123456789", min_size=1, max_size=12),
    st.just("") | st.text("0123456789", min_size=1, max_size=25).map(lambda digits: "." + digits),
    st.just("") | st.integers(-50, 45).map(lambda power: f"e{power}"),
)


@given(st.lists(DECIMALS, min_size=1, max_size=20))
def test_any_decimal_text_is_read_as_python_reads_it(fields):
    assert parsed(fields).tobytes() == by_python(fields).tobytes()
    with np.errstate(over="ignore"):
        assert parsed(fields, np.float32).tobytes() == by_python(fields, np.float32).tobytes()


@pytest.mark.parametrize("digits", range(27))
def test_fractions_of_every_length_are_read_as_python_reads_them(digits):
    rng = np.random.default_rng(digits)
    fields = [
        f"{'-' if rng.random() < 0.5 else ''}{rng.integers(10)}."
        + "".join(map(str, rng.integers(0, 10, size=digits).tolist()))
        for _ in range(2000)
    ]
    fields += ["9." + "9" * digits, "0." + "0" * digits, "-0." + "0" * digits]
    fields += ["12" + field.lstrip("-") for field in fields] + [field + "e-05" for field in fields]
    for dtype in ["f8", "f4", "f2"]:
        assert parsed(fields, dtype).tobytes() == by_python(fields, dtype).tobytes()


@pytest.mark.parametrize("form", ["{:.17f}", "{:.20f}", "{:.16e}", "{:.6e}", "{:.3f}", "{!r}", "{:.9g}", "{:g}"])
def test_numbers_at_the_middle_between_two_float32_are_rounded_as_by_python(form):
    rng = np.random.default_rng(1)
    low = (np.float32(10) ** rng.uniform(-6, 6, size=3000)).astype(np.float32)
    middle = (low.astype(np.float64) + np.nextafter(low, np.float32(np.inf))) / 2
    near = [
        middle,
        np.nextafter(middle, 0),
        np.nextafter(middle, np.inf),
        -middle * (1 + 1e-15),
        low.astype(np.float64),
    ]
    fields = [form.format(number) for number in np.concatenate(near).tolist()]
    for dtype in ["f8", "f4"]:
        assert parsed(fields, dtype).tobytes() == by_python(fields, dtype).tobytes()


@pytest.mark.parametrize(
    "field",
    [
        "1_0",
        "inf",
        "-nan",
        "1e5",
        "1.5e-300",
        "123456789",
        "12345678.5",
        "0e+05",
        "-5e-05",
        "1e400",
        "5",
        ".5",
        "-.5",
        "5.",
        "1E3",
        "+0.5",
        "00.5",
    ],
)
def test_every_spelling_that_python_takes_is_taken(field):
    np.testing.assert_array_equal(parsed([field, "0.5"]), by_python([field, "0.5"]))


@pytest.mark.parametrize(
    "field",
    [
        "0.5x",
        "0.x",
        "0..5",
        "0.5.5",
        "-",
        "--1",
        "0-5",
        "0.-5",
        "0x10",
        "12x.5",
        "1.5e+x5",
        "e+05",
        "1e-",
        "-e-05",
        "1.5f-05",
        "0.12345678901234567x9",
        "1:2",
        "0./5",
    ],
)
def test_what_python_does_not_take_makes_a_line_odd(field):
    block = parse_block(f"a 0.5 1\nb {field} 2\nc 0.25 3\n".encode(), 2)
    assert block.words == [b"a", b"c"]
    assert block.matrix.tolist() == [[0.5, 1], [0.25, 3]]
    assert block.odd == [(1, f"b {field} 2".encode())]


def test_every_byte_in_the_place_of_a_digit_is_told_from_one():
    for byte in range(256):
        field = b"0.12" + bytes([byte]) + b"4"
        block = parse_block(b"a 1 2\nw 0.5 " + field + b"\n", 2)
        is_number = bytes([byte]).isdigit() or byte in b"eE_"
        if byte in b"\n\t ":
            continue
        assert len(block.words) == 1 + is_number, bytes([byte])


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\t\n"])
@pytest.mark.parametrize("separator", [" ", "\t"])
def test_line_ends_and_tabs_do_not_make_lines_odd(end, separator):
    text = "".join(separator.join(row) + end for row in [("a", "0.5", "1"), ("b", "2", "-3.25")])
    block = parse_block(text.encode(), 2)
    assert (block.words, block.odd) == ([b"a", b"b"], [])
    assert block.matrix.tolist() == [[0.5, 1], [2, -3.25]]


@pytest.mark.parametrize(
    "line", [b" a 1 2", b"a  1 2", b"a 1 2  ", b"a b 1 2", b"a\x1f1 2", b"a\x0b1 2", b"1 2", b"a 1"]
)
def test_lines_that_are_no_plain_row_are_left_to_the_caller(line):
    block = parse_block(b"x 1 2\n" + line + b"\ny 3 4\n", 2)
    assert block.words == [b"x", b"y"]
    assert block.lines.tolist() == [0, 2]
    assert block.odd == [(1, line)]


def test_blank_lines_are_counted_and_nothing_else():
    block = parse_block(b"\n\nx 1 2\n\n\ny 3 4\n\n", 2)
    assert (block.words, block.lines.tolist(), block.odd, block.total) == ([b"x", b"y"], [2, 5], [], 7)


def shortest_by_numpy(number):
    text = str(number)
    return text if np.float32(float(text)) == number else f"{float(number):.9g}"


def test_numbers_are_written_as_shortly_as_numpy_writes_them():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, size=5_000, dtype=np.uint32).view(np.float32)
    numbers = np.concatenate(
        [
            bits[np.isfinite(bits)],
            np.float32(10) ** rng.uniform(-5, 2, size=20_000).astype(np.float32),
            -(np.float32(2) ** np.arange(-149, 128, dtype=np.float32)),
            np.nextafter(np.float32(2) ** np.arange(-20, 8, dtype=np.float32), np.float32(0)),
            np.arange(0, 10, 0.001, dtype=np.float32),
            np.array([0, -0.0, 9.5, 9.499999, 9.999999, 1e-4, 9.9999e-5, 0.99999994, 1.0000001, 16777216, 9.2e15]),
        ]
    ).astype(np.float32)
    texts = list(float32_rows(numbers[:, np.newaxis]))
    again = np.array([float(text) for text in texts]).astype(np.float32)
    assert again.tobytes() == numbers.tobytes()
    for text, number in zip(texts, numbers, strict=True):
        assert len(text) <= len(shortest_by_numpy(number)), number


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=12))
def test_a_row_is_its_numbers_with_a_space_between(numbers):
    matrix = np.array([numbers, numbers[::-1]], dtype=np.float32)
    for row, text in zip(matrix, float32_rows(matrix), strict=True):
        fields = text.split(b" ")
        assert len(fields) == len(numbers)
        assert np.array([float(field) for field in fields]).astype(np.float32).tobytes() == row.tobytes()
