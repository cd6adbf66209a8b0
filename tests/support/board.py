# A GTK window with labels and buttons at given places: says which button was clicked, shows and hides labels when told.
# argv[1]: {"width", "height", "ground", "items": [{"kind": "label"|"button"|"patch", "text", "x", "y", "px", "font", "fg", "bg", "width", "height"}]}
import json, sys, threading
import gi
gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GLib, Gtk, Pango

spec = json.loads(sys.argv[1])
items = {}


def say(**report):
    print(json.dumps(report), flush=True)


def style(widget, item, selector):
    rules = []
    if "fg" in item:
        rules.append("color: %s;" % item["fg"])
    if "bg" in item:
        rules.append("background: %s; background-image: none;" % item["bg"])
    css = Gtk.CssProvider()
    css.load_from_data(("%s { %s text-shadow: none; }" % (selector, " ".join(rules))).encode())
    widget.get_style_context().add_provider(css, 900)


def add(item):
    if item["kind"] == "patch":
        widget = Gtk.EventBox()
        widget.set_size_request(item["width"], item["height"])
        style(widget, item, "*")
    else:
        label = Gtk.Label()
        font = Pango.FontDescription(item.get("font", "DejaVu Sans"))
        font.set_absolute_size(item.get("px", 16) * Pango.SCALE)
        attributes = Pango.AttrList()
        attributes.insert(Pango.attr_font_desc_new(font))
        label.set_attributes(attributes)
        label.set_text(item["text"])
        style(label, {k: v for k, v in item.items() if k == "fg"}, "label")
        if item["kind"] == "button":
            widget = Gtk.Button()
            widget.add(label)
            style(widget, {k: v for k, v in item.items() if k == "bg"}, "button")
            name = item.get("name", item["text"])
            widget.connect("button-press-event", lambda _, e: say(kind="press", name=name, button=e.button, count={4: 1, 5: 2, 6: 3}.get(int(e.type), 0)))
            widget.connect("clicked", lambda _: say(kind="clicked", name=name))
        else:
            widget = label
    fixed.put(widget, item["x"], item["y"])
    widget.show_all()
    items[item.get("name", item.get("text"))] = widget


window = Gtk.Window(type=Gtk.WindowType.POPUP)
window.set_default_size(spec["width"], spec["height"])
window.move(spec.get("x", 0), spec.get("y", 0))
css = Gtk.CssProvider()
css.load_from_data(("window { background: %s; }" % spec.get("ground", "#f6f5f4")).encode())
window.get_style_context().add_provider(css, 900)
fixed = Gtk.Fixed()
window.add(fixed)
for item in spec["items"]:
    add(item)


def obey(order):
    if order["order"] == "add":
        add(order["item"])
    else:
        items[order["name"]].hide()
    return False


def orders():
    for line in sys.stdin:
        GLib.idle_add(obey, json.loads(line))
    GLib.idle_add(Gtk.main_quit)


def drawn(*_):
    # Two frames later the server has the pixels.
    Gdk.Display.get_default().sync()
    say(kind="ready")
    return False


window.connect("map-event", lambda *_: GLib.timeout_add(200, drawn) and False)
window.show_all()
threading.Thread(target=orders, daemon=True).start()
Gtk.main()
