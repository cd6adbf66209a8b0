"""One other engine for the OCR bench: `rivals.py rapidocr|faster-paddle-small|faster-paddle-tiny|tesseract`.

For each line on stdin, the path of a picture, it answers with one line of JSON: the milliseconds that reading took, the
lines that were read, and the most memory that was in use. Every engine runs as its package ships it; Tesseract, which
reads a picture per start of its program, gets one thread, with which it is several times faster on few cores.
"""
import json
import os
import resource
import subprocess
import sys
import time


def box(points):
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    return {"x": min(xs), "y": min(ys), "width": max(xs) - min(xs), "height": max(ys) - min(ys)}


def rapidocr():
    import cv2
    from rapidocr import RapidOCR

    engine = RapidOCR(params={"Global.log_level": "error"})

    def read(picture):
        found = engine(picture)
        boxes = [] if found.boxes is None else found.boxes.tolist()
        return [{"text": text, **box(points)} for points, text in zip(boxes, found.txts or ())]

    return cv2.imread, read


def faster_paddle(size):
    from faster_paddle import OcrEngine

    engine = OcrEngine(model_size=size)

    def load(path):
        with open(path, "rb") as file:
            return file.read()

    def read(picture):
        found = engine.ocr(picture)["bounds"].values()
        corners = lambda b: [b[name] for name in ("topLeftCoord", "bottomRightCoord")]
        plain = lambda c: (c["x"], c["y"]) if isinstance(c, dict) else tuple(c)
        return [{"text": b["text"], **box([plain(c) for c in corners(b)])} for b in found]

    return load, read


def tesseract():
    wanted = ["eng", "chi_sim", "jpn", "kor", "rus", "deu", "fra"]
    known = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True, check=True).stdout.split()
    languages = "+".join(language for language in wanted if language in known)
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}

    def read(path):
        command = ["tesseract", path, "-", "-l", languages, "--psm", "11", "tsv"]
        table = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
        lines = {}
        for row in table.splitlines()[1:]:
            fields = row.split("\t")
            if len(fields) == 12 and fields[0] == "5" and fields[11].strip():
                lines.setdefault(tuple(fields[1:5]), []).append(fields)
        result = []
        for words in lines.values():
            edges = [(int(w[6]), int(w[7]), int(w[6]) + int(w[8]), int(w[7]) + int(w[9])) for w in words]
            points = [(e[0], e[1]) for e in edges] + [(e[2], e[3]) for e in edges]
            result.append({"text": " ".join(w[11] for w in words), **box(points)})
        return result

    return lambda path: path, read


def peak_kilobytes():
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


def main():
    name = sys.argv[1]
    if name.startswith("faster-paddle-"):
        load, read = faster_paddle(name.removeprefix("faster-paddle-"))
    else:
        load, read = {"rapidocr": rapidocr, "tesseract": tesseract}[name]()
    for line in sys.stdin:
        picture = load(line.strip())
        start = time.perf_counter()
        lines = read(picture)
        took = (time.perf_counter() - start) * 1000
        print(json.dumps({"ms": took, "peak_kb": peak_kilobytes(), "lines": lines}), flush=True)


main()
