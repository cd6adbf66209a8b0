# The desktop's side of a tray: a StatusNotifier watcher and host, a reader of menus, and a screen saver that can be told to
# lock. Told by JSON lines on stdin, answers with one JSON line each on stdout.
import hashlib, json, os, sys, threading
import gi
gi.require_version("GdkPixbuf", "2.0")
from gi.repository import GdkPixbuf, Gio, GLib

WATCHER = "org.kde.StatusNotifierWatcher"
ITEM = "org.kde.StatusNotifierItem"
MENU = "com.canonical.dbusmenu"
SAVER = "org.freedesktop.ScreenSaver"
WATCHER_XML = """<node><interface name="org.kde.StatusNotifierWatcher">
<method name="RegisterStatusNotifierItem"><arg type="s" direction="in"/></method>
<method name="RegisterStatusNotifierHost"><arg type="s" direction="in"/></method>
<property name="RegisteredStatusNotifierItems" type="as" access="read"/>
<property name="IsStatusNotifierHostRegistered" type="b" access="read"/>
<property name="ProtocolVersion" type="i" access="read"/>
<signal name="StatusNotifierItemRegistered"><arg type="s"/></signal>
<signal name="StatusNotifierItemUnregistered"><arg type="s"/></signal>
<signal name="StatusNotifierHostRegistered"/>
</interface></node>"""
SAVER_XML = """<node><interface name="org.freedesktop.ScreenSaver">
<method name="GetActive"><arg type="b" direction="out"/></method>
<signal name="ActiveChanged"><arg type="b"/></signal>
</interface></node>"""

bus = Gio.DBusConnection.new_for_address_sync(
    os.environ["DBUS_SESSION_BUS_ADDRESS"],
    Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None, None)
items = []
locked = False


def say(**report):
    print(json.dumps(report), flush=True)


def called(_, sender, path, interface, method, arguments, invocation):
    if method == "RegisterStatusNotifierItem":
        given = arguments.unpack()[0]
        item = (sender, given) if given.startswith("/") else (given, "/StatusNotifierItem")
        if item not in items:
            items.append(item)
        bus.emit_signal(None, path, interface, "StatusNotifierItemRegistered", GLib.Variant("(s)", (item[0] + item[1],)))
        invocation.return_value(None)
    elif method == "RegisterStatusNotifierHost":
        invocation.return_value(None)
    elif method == "GetActive":
        invocation.return_value(GLib.Variant("(b)", (locked,)))


def read(_, sender, path, interface, name):
    return {
        "RegisteredStatusNotifierItems": GLib.Variant("as", [a + b for a, b in items]),
        "IsStatusNotifierHostRegistered": GLib.Variant("b", True),
        "ProtocolVersion": GLib.Variant("i", 0),
    }[name]


def own(name, path, xml):
    bus.register_object(path, Gio.DBusNodeInfo.new_for_xml(xml).interfaces[0], called, read, None)
    bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                  GLib.Variant("(su)", (name, 4)), None, Gio.DBusCallFlags.NONE, 5000, None)


def gone(_, sender, path, interface, signal, arguments):
    name, _, new = arguments.unpack()
    if not new:
        items[:] = [item for item in items if item[0] != name]


bus.signal_subscribe("org.freedesktop.DBus", "org.freedesktop.DBus", "NameOwnerChanged", None, None, Gio.DBusSignalFlags.NONE, gone)


def call(name, path, interface, method, arguments):
    return bus.call_sync(name, path, interface, method, arguments, None, Gio.DBusCallFlags.NONE, 5000, None).unpack()


def properties(item):
    return call(item[0], item[1], "org.freedesktop.DBus.Properties", "GetAll", GLib.Variant("(s)", (ITEM,)))[0]


def picture(told):
    """What a panel would draw: the sum of all pixels, and the colour that most solid pixels have."""
    file = told["IconName"] if told["IconName"].startswith("/") else os.path.join(told.get("IconThemePath", ""), told["IconName"] + ".png")
    pixels = GdkPixbuf.Pixbuf.new_from_file(file)
    data, step, count = pixels.get_pixels(), pixels.get_n_channels(), {}
    for y in range(pixels.get_height()):
        row = data[y * pixels.get_rowstride():]
        for x in range(pixels.get_width()):
            pixel = row[x * step:x * step + step]
            if step < 4 or pixel[3] == 255:
                count[tuple(pixel[:3])] = count.get(tuple(pixel[:3]), 0) + 1
    return {"sum": hashlib.sha256(data).hexdigest(), "colour": list(max(count, key=count.get)), "side": pixels.get_width()}


def rows(node, into):
    number, told, children = node
    if told.get("label"):
        into.append({"id": number, "label": told["label"].replace("_", ""), "enabled": told.get("enabled", True), "visible": told.get("visible", True)})
    for child in children:
        rows(child, into)
    return into


def menu(item):
    path = properties(item)["Menu"]
    call(item[0], path, MENU, "AboutToShow", GLib.Variant("(i)", (0,)))
    return rows(call(item[0], path, MENU, "GetLayout", GLib.Variant("(iias)", (0, -1, [])))[1], [])


def obey(order):
    try:
        answer(order)
    except Exception as error:
        say(error=repr(error))
    return False


def answer(order):
    global locked
    kind = order["order"]
    if kind == "items":
        say(items=[list(item) for item in items])
    elif kind == "item":
        told = properties(items[-1])
        shown = {name: told.get(name) for name in ("Title", "Status", "Id", "XAyatanaLabel", "IconAccessibleDesc")}
        say(picture=picture(told), **shown)
    elif kind == "menu":
        say(rows=menu(items[-1]))
    elif kind == "choose":
        item = items[-1]
        call(item[0], properties(item)["Menu"], MENU, "Event", GLib.Variant("(isvu)", (order["id"], "clicked", GLib.Variant("i", 0), 0)))
        say(chosen=order["id"])
    elif kind == "lock":
        locked = order["locked"]
        bus.emit_signal(None, "/org/freedesktop/ScreenSaver", SAVER, "ActiveChanged", GLib.Variant("(b)", (locked,)))
        say(locked=locked)


def orders():
    for line in sys.stdin:
        GLib.idle_add(obey, json.loads(line))
    GLib.idle_add(loop.quit)


loop = GLib.MainLoop()
if "saver" in sys.argv:
    own(SAVER, "/org/freedesktop/ScreenSaver", SAVER_XML)
if "tray" in sys.argv:
    own(WATCHER, "/StatusNotifierWatcher", WATCHER_XML)
say(ready=True)
threading.Thread(target=orders, daemon=True).start()
loop.run()
