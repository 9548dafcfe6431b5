# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/images, image_golden.json and resize_golden.json with Pillow (9.4 made those in the repository).

Run with a Python that has Pillow and NumPy; tests only read the results. ycck.jpg is not made here, as Pillow cannot: it
was written with libjpeg (jpeg_set_colorspace JCS_YCCK, Adobe marker) from the same picture; its golden pixels are Pillow's.
"""
import json
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps

HERE = pathlib.Path(__file__).parent
OUT = HERE / "images"


def noise(width, height, channels=3, seed=1):
    """The same generator is in the tests, so inputs need not be stored."""
    values, x = [], seed
    for _ in range(width * height * channels):
        x = (x * 1103515245 + 12345) % 2**31
        values.append((x >> 16) & 255)
    return np.array(values, np.uint8).reshape(height, width, channels)


def picture(width=20, height=13):
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([x * 12, y * 19, (x * y * 3) % 256], -1).astype(np.uint8)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png16(path, array, colour_type):
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in array)
    header = struct.pack(">IIBBBBB", array.shape[1], array.shape[0], 16, colour_type, 0, 0, 0)
    data = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + data)


def exif(orientation, little):
    order = "<" if little else ">"
    entry = struct.pack(order + "HHIHH", 0x0112, 3, 1, orientation, 0)
    return b"Exif\0\0" + (b"II" if little else b"MM") + struct.pack(order + "HIH", 42, 8, 1) + entry + bytes(4)


def make_images():
    OUT.mkdir(exist_ok=True)
    rgb = Image.fromarray(picture())
    alpha = Image.fromarray(noise(20, 13, 1, 7)[..., 0])
    rgb.save(OUT / "rgb.jpg", quality=90)
    rgb.save(OUT / "progressive.jpg", quality=90, progressive=True)
    rgb.save(OUT / "exif6.jpg", quality=90, exif=exif(6, little=False))
    rgb.save(OUT / "exif3.jpg", quality=90, exif=exif(3, little=True))
    rgb.convert("L").save(OUT / "grey.jpg", quality=90)
    rgb.convert("CMYK").save(OUT / "cmyk.jpg", quality=90)
    rgb.save(OUT / "rgb.png")
    rgb.save(OUT / "exif8.png", exif=exif(8, little=True)[6:])
    rgb.save(OUT / "bad_profile.png", icc_profile=b"no profile at all")
    rgba = rgb.copy()
    rgba.putalpha(alpha)
    rgba.save(OUT / "rgba.png")
    rgba.convert("LA").save(OUT / "grey_alpha.png")
    rgb.quantize(9).save(OUT / "palette.png", transparency=3)
    rgb.convert("1").save(OUT / "one_bit.png")
    rgb.save(OUT / "lossless.webp", lossless=True)
    rgb.save(OUT / "lossy.webp", quality=80)
    deep = picture().astype(np.uint16) * 256 + noise(20, 13, 3, 5)
    write_png16(OUT / "rgb16.png", deep, 2)
    write_png16(OUT / "grey16.png", deep[..., 0], 0)
    rgb.crop((0, 0, 1, 1)).save(OUT / "one_pixel.jpg")


def decoded(path):
    if path.name == "grey16.png":  # Pillow clips these to 255; the upper byte is what it keeps of 16-bit colour
        return np.repeat(picture()[..., :1], 3, -1)
    image = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
    return np.asarray(image)


def golden_images():
    result = {}
    for path in sorted(OUT.iterdir()):
        array = decoded(path)
        result[path.name] = {"width": array.shape[1], "height": array.shape[0], "rgb": array.tobytes().hex()}
    return result


def golden_resize():
    filters = {"box": Image.BOX, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS}
    sizes = [(13, 9, 5, 4), (7, 5, 16, 11), (20, 1, 3, 1), (31, 17, 10, 17), (6, 23, 6, 8), (50, 40, 3, 2), (1, 1, 4, 3),
             (9, 8, 9, 8)]
    result = []
    for width, height, out_width, out_height in sizes:
        for name, kind in filters.items():
            image = Image.fromarray(noise(width, height, seed=width * 100 + height)).resize((out_width, out_height), kind)
            result.append({"filter": name, "from": [width, height], "to": [out_width, out_height],
                           "rgb": np.asarray(image).tobytes().hex()})
    return result


def write_json(name, value):
    (HERE / name).write_text(json.dumps(value, indent=0) + "\n")


if __name__ == "__main__":
    make_images()
    write_json("image_golden.json", golden_images())
    write_json("resize_golden.json", golden_resize())
