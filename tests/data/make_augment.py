#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes augment.json: what Pillow makes of small images, and boxes drawn by a second, slow implementation.

Usage: make_augment.py > augment.json    (Debian's python3-pil)
"""
import json
import math

from PIL import Image, ImageEnhance, ImageOps

MASK = (1 << 64) - 1
STEP, FOLD = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03
FILL = (125, 123, 114)


class Rng:
    """src/base/rng.h, written again."""

    def __init__(self, seed, *keys):
        self.key, self.count = self.mix((seed + STEP) & MASK), 0
        for k in keys:
            self.key = self.mix((self.mix(self.key ^ FOLD) + k) & MASK)

    @staticmethod
    def mix(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def bits(self):
        self.count += 1
        return self.mix((self.key + self.count * STEP) & MASK)

    def random(self):
        return (self.bits() >> 11) / (1 << 53)

    def uniform(self, low, high):
        return low + (high - low) * self.random()

    def randint(self, low, high):
        n = high - low + 1
        x = self.bits()
        while x < (1 << 64) % n:
            x = self.bits()
        return low + x % n


def resized_crop(rng, w, h, scale, ratio):
    """[x, y, width, height]"""
    for _ in range(10):
        area = rng.uniform(*scale) * (w * h)
        aspect = math.exp(rng.uniform(math.log(ratio[0]), math.log(ratio[1])))
        cw, ch = max(1, round(math.sqrt(area * aspect))), max(1, round(math.sqrt(area / aspect)))
        if cw <= w and ch <= h:
            y = rng.randint(0, h - ch)
            return [rng.randint(0, w - cw), y, cw, ch]
    cw, ch = w, h
    if w / h < ratio[0]:
        ch = round(w / ratio[0])
    elif w / h > ratio[1]:
        cw = round(h * ratio[1])
    return [(w - cw) // 2, (h - ch) // 2, cw, ch]


def erased_box(rng, w, h):
    for _ in range(10):
        area = rng.uniform(0.02, 1 / 3) * (w * h)
        aspect = math.exp(rng.uniform(math.log(0.3), math.log(1 / 0.3)))
        eh, ew = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if ew < w and eh < h:
            y = rng.randint(0, h - eh)
            return [rng.randint(0, w - ew), y, ew, eh]
    return None


def cutmix_box(lam, w, h, cx, cy):
    cut_h, cut_w = int(h * math.sqrt(1 - lam)), int(w * math.sqrt(1 - lam))
    clip = lambda v, top: max(0, min(v, top))
    x0, x1 = clip(cx - cut_w // 2, w), clip(cx + cut_w // 2, w)
    y0, y1 = clip(cy - cut_h // 2, h), clip(cy + cut_h // 2, h)
    return [x0, y0, x1 - x0, y1 - y0]


def make_image(name, w, h):
    rng = Rng(1, w, h)
    values = {
        "noise": lambda x, y, c: rng.randint(0, 255),
        "waves": lambda x, y, c: int(127.5 + 127.5 * math.sin(0.7 * x + 0.4 * y * (c + 1))),
        "dull": lambda x, y, c: 90 + 7 * c + rng.randint(0, 60),
        "flat": lambda x, y, c: 77 + c,
    }[name]
    image = Image.new("RGB", (w, h))
    image.putdata([tuple(values(x, y, c) for c in range(3)) for y in range(h) for x in range(w)])
    return image


def solarize_add(image, add):
    return image.point([min(255, v + add) if v < 128 else v for v in range(256)] * 3)


def affine(*matrix):
    return lambda im: im.transform(im.size, Image.AFFINE, matrix, Image.BICUBIC, fillcolor=FILL)


def operations(w, h):
    """(operation, argument, function): the names are those of AugmentOp."""
    yield from ((n, 0, getattr(ImageOps, n)) for n in ("autocontrast", "equalize", "invert"))
    yield from (("posterize", b, lambda im, b=b: ImageOps.posterize(im, b)) for b in (0, 1, 3, 4, 8))
    yield from (("solarize", t, lambda im, t=t: ImageOps.solarize(im, t)) for t in (0, 26, 128, 256))
    yield from (("solarize_add", a, lambda im, a=a: solarize_add(im, a)) for a in (0, 55, 110))
    for name in ("color", "contrast", "brightness", "sharpness"):
        for f in (0.1, 0.37, 1.0, 1.28, 1.9):
            yield name, f, lambda im, name=name, f=f: getattr(ImageEnhance, name.title())(im).enhance(f)
    for a in (-30, -11.7, 7.25, 30):
        yield "rotate", a, lambda im, a=a: im.rotate(a, resample=Image.BICUBIC, fillcolor=FILL)
    for s in (-0.3, 0.17):
        yield "shear_x", s, affine(1, s, 0, 0, 1, 0)
        yield "shear_y", s, affine(1, 0, 0, s, 1, 0)
    for t in (-0.45, 0.13):
        yield "translate_x", t, affine(1, 0, t * w, 0, 1, 0)
        yield "translate_y", t, affine(1, 0, 0, 0, 1, t * h)


def main():
    images, cases = {}, []
    for name, w, h in (("noise", 9, 7), ("waves", 8, 8), ("dull", 16, 20), ("flat", 3, 4), ("noise", 2, 5)):
        image = make_image(name, w, h)
        key = f"{name}-{w}x{h}"
        images[key] = {"width": w, "height": h, "pixels": image.tobytes().hex()}
        if key == "dull-16x20":  # enough pixels for equalize to do something
            cases += [[key, n, a, f(image).tobytes().hex()] for n, a, f in list(operations(w, h))[:2]]
        else:
            cases += [[key, n, a, f(image).tobytes().hex()] for n, a, f in operations(w, h)]
    sizes = ((28, 28), (32, 32), (500, 375), (64, 7), (5, 90), (1, 1), (3, 2))
    ranges = (((0.08, 1), (0.67, 1.5)), ((0.8, 1), (0.9, 1.1)))
    json.dump({
        "fill": FILL, "images": images, "operations": cases,
        "resized_crop": [[w, h, scale, ratio, seed, resized_crop(Rng(seed, w), w, h, scale, ratio)]
                         for w, h in sizes for scale, ratio in ranges for seed in range(6)],
        "erased_box": [[w, h, seed, erased_box(Rng(seed, w), w, h)] for w, h in sizes for seed in range(6)],
        "cutmix_box": [[lam, w, h, x, y, cutmix_box(lam, w, h, x, y)] for lam in (0.0, 0.1, 0.5, 0.77, 0.999, 1.0)
                       for w, h, x, y in ((28, 28, 0, 0), (28, 28, 27, 13), (30, 17, 12, 8))],
    }, fp=__import__("sys").stdout, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
