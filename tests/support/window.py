# The GTK witness: one window, told by lines on stdin, answering with JSON lines on stdout.
import json, sys, threading, time
import gi
gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
from gi.repository import Gdk, GLib, Gtk

kind = sys.argv[1]
events = []


def say(**report):
    print(json.dumps(report), flush=True)


window = Gtk.Window(title="witness " + kind)
window.set_default_size(600, 300)
box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
window.add(box)
if kind in ("view", "slow"):
    widget = Gtk.TextView()
    widget.set_wrap_mode(Gtk.WrapMode.CHAR)
    buffer = widget.get_buffer()
    get = lambda: buffer.get_text(buffer.get_start_iter(), buffer.get_end_iter(), True)
    put = buffer.set_text
    selection = lambda: (lambda b: buffer.get_text(b[0], b[1], True) if b else "")(buffer.get_selection_bounds())
else:
    widget = Gtk.Entry()
    get, put = widget.get_text, widget.set_text
    selection = lambda: (lambda b: widget.get_text()[b[0]:b[1]] if b else "")(widget.get_selection_bounds())
box.pack_start(widget, True, True, 0)
if kind == "form":
    box.pack_start(Gtk.Entry(), True, True, 0)


def key(_, event, which):
    if kind == "slow" and which == "key-press":
        time.sleep(0.05)
    events.append({"type": which, "name": Gdk.keyval_name(event.keyval), "state": int(event.state) & 0xff})
    return False


def button(_, event, which):
    if event.type in (Gdk.EventType.BUTTON_PRESS, Gdk.EventType.BUTTON_RELEASE):
        events.append({"type": which, "button": event.button, "x": int(event.x_root), "y": int(event.y_root)})
    return False


window.connect("key-press-event", key, "key-press")
window.connect("key-release-event", key, "key-release")
widget.connect("button-press-event", button, "button-press")
widget.connect("button-release-event", button, "button-release")
widget.connect("motion-notify-event", lambda _, e: events.append({"type": "motion", "x": int(e.x_root), "y": int(e.y_root), "state": int(e.state)}) and False)
widget.connect("scroll-event", lambda _, e: events.append({"type": "scroll", "direction": int(e.direction)}) and False)
window.connect("destroy", lambda *_: Gtk.main_quit())


def obey(order):
    if order == "glance":
        say(kind="glance", value=get())
        return False
    # A round trip to the server: everything sent before it has been delivered; GTK handles it before this idle call ends.
    Gdk.Display.get_default().sync()
    while Gtk.events_pending():
        Gtk.main_iteration()
    if order == "text":
        say(kind="text", value=get())
    elif order == "clear":
        put("")
        events.clear()
        say(kind="clear")
    elif order == "events":
        say(kind="events", value=events)
    elif order == "selection":
        say(kind="selection", value=selection())
    elif order == "place":
        _, x, y = Gtk.Widget.get_window(widget).get_origin()
        a = widget.get_allocation()
        if kind not in ("view", "slow"):
            x, y = x + a.x, y + a.y
        say(kind="place", x=x + a.width // 2, y=y + a.height // 2)
    return False


def orders():
    for line in sys.stdin:
        # A glance comes before the input that waits, everything else after it.
        order = line.strip()
        GLib.idle_add(obey, order, priority=GLib.PRIORITY_HIGH if order == "glance" else GLib.PRIORITY_LOW)
    GLib.idle_add(Gtk.main_quit)


def focused(*_):
    if window.is_active() and widget.has_focus():
        say(kind="ready")
        return False
    return True


window.show_all()
window.present()
widget.grab_focus()
GLib.timeout_add(10, focused)
threading.Thread(target=orders, daemon=True).start()
Gtk.main()
