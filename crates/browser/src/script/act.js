// Acting on elements: where to press, whether the event really arrived, what a field takes. The pressing and the typing
// themselves are done from outside as trusted input.
(() => {
  'use strict';
  const D = globalThis.__deskhand;
  if (D.aim) return;

  D.held = null;
  const frame = () => new Promise((go) => { const t = setTimeout(go, 60); requestAnimationFrame(() => { clearTimeout(t); go(); }); });
  // The next frame that is really drawn: what an animation moves stands still between frames, however long they take.
  const drawn = () => new Promise((go) => { const t = setTimeout(go, 500); requestAnimationFrame(() => { clearTimeout(t); go(); }); });
  const deepHit = (x, y) => {
    let e = document.elementFromPoint(x, y);
    while (e && e.shadowRoot) { const i = e.shadowRoot.elementFromPoint(x, y); if (!i || i === e) break; e = i; }
    return e;
  };
  const within = (n, e) => { for (; n; n = D.up(n)) if (n === e) return true; return false; };
  const labels = (n, e) => { for (; n; n = D.up(n)) if (n.tagName === 'LABEL' && n.control === e) return true; return false; };
  const disabled = (e) => {
    if (e.matches(':disabled')) return 'it is disabled';
    for (let a = e; a; a = D.up(a)) {
      if (a.getAttribute('aria-disabled') === 'true') return 'it is disabled (aria-disabled)';
      if (a.inert) return `it is inert (${D.name(a)})`;
    }
    return '';
  };
  const hiddenWhy = (e) => {
    if (!e.isConnected) return 'it is no longer in the page';
    for (let a = e; a; a = D.up(a)) {
      const s = getComputedStyle(a);
      if (s.display === 'none') return `it is not visible (${a === e ? '' : D.name(a) + ' has '}display: none)`;
      if (s.visibility !== 'visible' && a === e) return `it is not visible (visibility: ${s.visibility})`;
    }
    return 'it is not visible (it has no size)';
  };

  // The rectangle to press in: the largest box of the element, cut to the window.
  const box = (e) => {
    let best = null;
    const all = [...e.getClientRects()];
    if (!all.length || all.every((r) => !r.width || !r.height)) for (const c of e.children) all.push(...c.getClientRects());
    for (const r of all) {
      const b = { l: Math.max(r.left, 0), t: Math.max(r.top, 0), r: Math.min(r.right, innerWidth), b: Math.min(r.bottom, innerHeight) };
      b.area = Math.max(0, b.r - b.l) * Math.max(0, b.b - b.t);
      if (b.area > 0 && (!best || b.area > best.area)) best = b;
    }
    return best;
  };
  const SPOTS = [[0.5, 0.5], [0.2, 0.5], [0.8, 0.5], [0.5, 0.2], [0.5, 0.8]];
  // A point of the element that receives events, or what receives them instead.
  const spot = (e) => {
    const b = box(e);
    if (!b) return { by: null };
    let by = null;
    for (const [fx, fy] of SPOTS) {
      const x = b.l + (b.r - b.l) * fx, y = b.t + (b.b - b.t) * fy, hit = deepHit(x, y);
      if (within(hit, e) || labels(hit, e)) return { x, y };
      by = by || hit;
    }
    return { by };
  };
  // Brings it into view as little as needed, and looks again when something fixed lies over it there.
  const reach = (e) => {
    let s = spot(e);
    for (const block of ['nearest', 'center', 'end', 'start']) {
      if (s.x !== undefined) return s;
      e.scrollIntoView({ block, inline: block === 'nearest' ? 'nearest' : 'center', behavior: 'instant' });
      const again = spot(e);
      s = again.x !== undefined || again.by ? again : s;
    }
    return s;
  };
  const covered = (e, by) => {
    if (!by) return 'it is outside of what can be scrolled into view';
    if (getComputedStyle(e).pointerEvents === 'none') return 'it takes no pointer events (pointer-events: none)';
    return `it is covered by ${D.name(by)}, which would get the click; close or move that first`;
  };
  const same = (a, b) => a.left === b.left && a.top === b.top && a.width === b.width && a.height === b.height;
  const busy = () => document.readyState !== 'complete' || document.getAnimations().some((a) => a.playState === 'running' && a.effect && a.effect.getComputedTiming().endTime !== Infinity);

  const inFrame = (f, rest) => { D.held = f; return { state: 'frame', rest, name: D.name(f) }; };

  // Input that comes before a new document is first drawn is dropped by the browser.
  const undrawn = () => performance.now() < 2500 && document.visibilityState === 'visible' && !performance.getEntriesByType('paint').length;

  // Finds the element and waits until `ready(e)` has nothing against it (a text is a reason to wait, {stop} one not to).
  const settle = async ({ selector, wait, linger }, ready) => {
    const start = performance.now();
    for (let why = null; ; ) {
      const { found, frame: f, rest } = D.find(selector);
      if (f) return inFrame(f, rest);
      const e = D.pick(found);
      const now = performance.now() - start;
      if (!e) {
        if (now >= linger) return { state: 'none' };
      } else {
        D.held = e;
        why = undrawn() ? 'the page is not drawn yet' : D.visible(e) ? await ready(e) : hiddenWhy(e);
        if (why && why.stop) return { state: 'no', name: D.name(e), why: why.stop };
        if (!why) return { state: 'ok', name: D.name(e), matches: found.length, element: e };
        if (performance.now() - start >= wait) return { state: 'no', name: D.name(e), why };
      }
      await frame();
    }
  };
  D.settle = settle;
  const plain = ({ element, ...rest }) => rest;

  // Where to press for `selector`; arms the guard for the press that follows under `token`.
  D.aim = async (args) => {
    let at = null;
    const r = await settle(args, async (e) => {
      if (e.tagName === 'OPTION') return { stop: 'an option of a drop-down cannot be clicked; use browser_type on its select with the option\'s text' };
      const no = disabled(e);
      if (no) return no;
      if (busy()) {
        const before = e.getBoundingClientRect();
        await drawn();
        await drawn();
        if (!e.isConnected || !same(before, e.getBoundingClientRect())) return 'it is still moving';
      }
      at = reach(e);
      return at.x === undefined ? covered(e, at.by) : '';
    });
    if (r.state !== 'ok') return r;
    arm(r.element, args.token);
    return { ...plain(r), x: at.x, y: at.y, select: r.element.tagName === 'SELECT' };
  };

  // The guard: sees each trusted pointer event before the page does. A press that would land on something else than
  // what was aimed at (because it moved in the last moment) is swallowed, and told.
  let armed = null;
  const tell = (event, by) => deskhandTell(JSON.stringify({ token: armed.token, event, by: by || '' }));
  const arm = (el, token) => {
    const mine = (armed = { el, token, down: null, by: '' });
    setTimeout(() => { if (armed === mine) armed = null; }, 8000);
  };
  // A press meant for the inside of a frame goes to the frame's element as long as the browser has not drawn the frame
  // there; the page around it never gets such a press from a person, so it is swallowed, and pressed again.
  let passing = { frame: null, end: 0 };
  const guard = (ev) => {
    if (passing.frame && ev.isTrusted && performance.now() < passing.end && ev.composedPath()[0] === passing.frame) {
      ev.preventDefault();
      ev.stopImmediatePropagation();
      return;
    }
    if (!armed || !ev.isTrusted) return;
    const mine = armed, path = ev.composedPath(), ok = path.includes(mine.el) || labels(path[0], mine.el);
    if (mine.down === null && /down$/.test(ev.type)) { mine.down = ok; mine.by = ok ? '' : D.name(path[0]); if (ok) tell('down'); }
    if (mine.down === false) {
      ev.preventDefault();
      ev.stopImmediatePropagation();
      if (ev.type === 'mouseup') { tell('blocked', mine.by); setTimeout(() => { if (armed === mine) armed = null; }, 0); }
    } else if (ev.type === 'click') {
      tell(ok ? 'click' : 'elsewhere', D.name(path[0]));
      armed = null;
    }
  };
  for (const k of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'auxclick', 'dblclick']) addEventListener(k, guard, { capture: true, passive: false });

  // The place of a frame's content in this document, and whether a point of it is covered. `this` is the frame element.
  D.frameSpot = (el, x, y) => {
    passing = { frame: el, end: performance.now() + 5000 };
    const r = el.getBoundingClientRect(), s = getComputedStyle(el), n = (v) => parseFloat(v) || 0;
    const kx = el.offsetWidth ? r.width / el.offsetWidth : 1, ky = el.offsetHeight ? r.height / el.offsetHeight : 1;
    const at = { x: r.left + (el.clientLeft + n(s.paddingLeft) + x) * kx, y: r.top + (el.clientTop + n(s.paddingTop) + y) * ky };
    const hit = x === null ? el : deepHit(at.x, at.y);
    return { x: at.x, y: at.y, covered: within(hit, el) ? '' : hit ? `its frame is covered by ${D.name(hit)} there` : 'its frame is outside of the window' };
  };
  D.showFrame = (el) => { el.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' }); return true; };

  const fire = (e, ...kinds) => kinds.forEach((k) => e.dispatchEvent(new Event(k, { bubbles: true, composed: true })));
  const VALUED = /^(date|time|month|week|datetime-local|color|range)$/;
  const FORMS = { date: '2025-12-31', time: '23:59', month: '2025-12', week: '2025-W52', 'datetime-local': '2025-12-31T23:59', color: '#rrggbb' };
  // What a field of this type makes of a text; the text itself when it takes it.
  const taken = (e, text) => {
    const p = document.createElement('input');
    p.type = e.type;
    for (const a of ['min', 'max', 'step']) if (e.hasAttribute(a)) p.setAttribute(a, e.getAttribute(a));
    p.value = text;
    return p.value;
  };
  const choose = (e, text) => {
    const options = [...e.options], norm = (s) => D.tidy(s).toLowerCase();
    const wanted = e.multiple ? text.split('\n').filter((t) => t.trim()) : [text];
    const picked = wanted.map((w) => options.find((o) => o.label === w || o.value === w) || options.find((o) => D.tidy(o.label) === D.tidy(w)) || options.find((o) => norm(o.label) === norm(w) || norm(o.value) === norm(w)));
    const missing = picked.findIndex((o) => !o);
    if (missing >= 0) return { stop: `it has no option ${JSON.stringify(wanted[missing])}; its options are ${options.slice(0, 20).map((o) => JSON.stringify(D.tidy(o.label))).join(', ')}${options.length > 20 ? ` and ${options.length - 20} more` : ''}` };
    const off = picked.find((o) => o.disabled || (o.parentElement && o.parentElement.disabled && o.parentElement.tagName === 'OPTGROUP'));
    if (off) return { stop: `its option ${JSON.stringify(D.tidy(off.label))} is disabled` };
    const before = options.map((o) => o.selected).join();
    e.focus();
    options.forEach((o) => { if (e.multiple) o.selected = picked.includes(o); });
    if (!e.multiple) e.selectedIndex = options.indexOf(picked[0]);
    if (options.map((o) => o.selected).join() !== before) fire(e, 'input', 'change');
    return { kind: 'done', value: [...e.selectedOptions].map((o) => D.tidy(o.label)).join('\n') };
  };
  const value = (e, text) => {
    const want = e.type === 'color' ? text.trim().toLowerCase() : text.trim();
    const got = taken(e, want);
    if (got !== want && Number(got) !== Number(want)) {
      const about = e.type === 'range' ? `a slider from ${e.min || 0} to ${e.max || 100}` : `a ${e.type} field, which takes a value such as ${FORMS[e.type]}`;
      return { stop: `it does not take ${JSON.stringify(text)}: it is ${about}; its value is unchanged` };
    }
    e.focus();
    if (e.value !== got) { e.value = got; fire(e, 'input', 'change'); }
    return { kind: 'done', value: e.value };
  };
  const editable = (e) => {
    if (e.tagName === 'LABEL' && e.control) return e.control;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.tagName) || e.isContentEditable) return e;
    const inner = [...(e.shadowRoot || e).querySelectorAll('input:not([type=hidden]),textarea,select,[contenteditable=""],[contenteditable=true]')];
    return inner.length === 1 ? inner[0] : null;
  };
  D.focusOn = (e) => {
    let a = document.activeElement;
    while (a && a.shadowRoot && a.shadowRoot.activeElement) a = a.shadowRoot.activeElement;
    if (a !== e) e.focus({ preventScroll: true });
    a = document.activeElement;
    while (a && a.shadowRoot && a.shadowRoot.activeElement) a = a.shadowRoot.activeElement;
    return a === e;
  };
  const refuse = (e, text) => {
    const type = e.tagName === 'INPUT' ? e.type : '';
    if (/^(checkbox|radio|button|submit|reset|image)$/.test(type)) return `it is a ${type}, which takes no text; use browser_click`;
    if (type === 'file') return '';
    if (e.tagName === 'INPUT' && /[\r\n]/.test(text)) return 'it is a single-line field, which takes no line breaks; use browser_key_press with Enter to submit it';
    if (e.maxLength >= 0 && text.length > e.maxLength) return `it takes at most ${e.maxLength} characters, and the text has ${text.length}; its value is unchanged`;
    if (type === 'number' && text.trim() && taken(e, text.trim()) === '') return `it does not take ${JSON.stringify(text)}: it is a number field; its value is unchanged`;
    return '';
  };
  // Makes a field ready to be typed into, with all its text selected; or sets it, where there is nothing to type.
  D.field = async (args) => {
    let out = null;
    const r = await settle(args, (found) => {
      const e = editable(found);
      if (!e) return { stop: 'it is no field that takes text' };
      const no = disabled(e);
      if (no) return no;
      if (e.readOnly && !VALUED.test(e.type) || e.getAttribute('aria-readonly') === 'true' || (e.readOnly && VALUED.test(e.type))) return { stop: 'it is read-only; its value is unchanged' };
      const why = refuse(e, args.text);
      if (why) return { stop: why };
      D.held = e;
      out = e.tagName === 'SELECT' ? choose(e, args.text) : e.tagName === 'INPUT' && VALUED.test(e.type) ? value(e, args.text) : e.type === 'file' ? { kind: 'file', multiple: e.multiple } : ready(e);
      return out.stop ? out : '';
    });
    return r.state === 'ok' ? { ...plain(r), name: D.name(D.held), ...out } : r;
  };
  const ready = (e) => {
    e.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
    if (!D.focusOn(e)) return { stop: 'it does not take the focus' };
    const form = /^(INPUT|TEXTAREA)$/.test(e.tagName);
    if (form) e.select();
    else getSelection().selectAllChildren(e);
    const rich = !form;
    return { kind: 'text', rich, multiline: rich || e.tagName === 'TEXTAREA', secret: e.type === 'password', empty: form ? e.value === '' : e.textContent === '' };
  };
  // Puts the head of a text with very many lines into the field that was made ready; its tail is typed after it.
  D.prefill = ({ head }) => {
    D.held.value = head;
    const n = head.length;
    D.held.setSelectionRange?.(n, n);
    return { done: D.held.value.length };
  };
  // What the field that was last made ready holds now.
  D.reading = () => {
    const e = D.held;
    if (!e || !e.isConnected) return { gone: true, value: '' };
    return { gone: false, value: /^(INPUT|TEXTAREA|SELECT)$/.test(e.tagName) ? e.value : e.innerText, files: e.files ? [...e.files].map((f) => f.name) : [] };
  };
  // Before keys that go to whatever has the focus: waits until the page is drawn, and tells under `token` when a key
  // comes. `inner` says that a frame has the focus, whose keys are not seen here.
  let expected = 0;
  D.expectKey = async ({ token }) => {
    while (undrawn()) await frame();
    expected = token;
    return { inner: /^(IFRAME|FRAME)$/.test(document.activeElement?.tagName || '') };
  };
  addEventListener('keydown', (ev) => {
    if (!expected || !ev.isTrusted) return;
    deskhandTell(JSON.stringify({ token: expected, event: 'key', by: '' }));
    expected = 0;
  }, { capture: true, passive: true });
  // Puts the focus on an element for keys.
  D.focus = async (args) => {
    const r = await settle(args, (e) => {
      const no = disabled(e);
      if (no) return no;
      e.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
      return D.focusOn(e) ? '' : { stop: 'it does not take the focus, so it gets no keys' };
    });
    return r.state === 'ok' ? plain(r) : r;
  };
})();
