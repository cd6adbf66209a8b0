// Reading: text, attributes, links, places; and scrolling, which is told in numbers of what really moved.
(() => {
  'use strict';
  const D = globalThis.__deskhand;
  if (D.content) return;

  const first = ({ selector }) => {
    const { found, frame, rest } = D.find(selector);
    if (frame) { D.held = frame; return { answer: { state: 'frame', rest, name: D.name(frame) } }; }
    return found.length ? { e: found[0], n: found.length, all: found } : { answer: { state: 'none' } };
  };
  const form = (e) => /^(INPUT|TEXTAREA|SELECT)$/.test(e.tagName);
  // `innerText` does not enter shadow roots; what they show is told where they are.
  const shown = (e) => {
    if (form(e)) return e.type === 'password' ? '•'.repeat(e.value.length) : e.tagName === 'SELECT' ? [...e.selectedOptions].map((o) => o.label).join('\n') : e.value;
    let text = e.innerText ?? e.textContent ?? '';
    const below = (root) => {
      for (const h of root.querySelectorAll('*')) if (h.shadowRoot && D.visible(h)) {
        for (const c of h.shadowRoot.children) if (!/^(STYLE|SCRIPT|SLOT|LINK)$/.test(c.tagName)) { const t = c.innerText ?? ''; if (t.trim()) text += '\n' + t; }
        below(h.shadowRoot);
      }
    };
    below(e.shadowRoot || e);
    if (e.shadowRoot) for (const c of e.shadowRoot.children) if (!/^(STYLE|SCRIPT|SLOT|LINK)$/.test(c.tagName)) text += '\n' + (c.innerText ?? '');
    return text;
  };
  // A part of a text by bytes of UTF-8, never cutting a character.
  const part = (text, offset, limit) => {
    const bytes = new TextEncoder().encode(text);
    const head = (i) => { while (i > 0 && i < bytes.length && (bytes[i] & 0xc0) === 0x80) i--; return i; };
    const from = head(Math.min(offset, bytes.length)), to = Math.min(bytes.length, head(Math.min(from + limit, bytes.length)));
    return { text: new TextDecoder().decode(bytes.subarray(from, to)), from, to, total: bytes.length };
  };
  // A document that is still being received is waited for, so that what is told of its size is the whole page's.
  const arrived = (patience) => new Promise((go) => {
    if (self !== top || document.readyState !== 'loading' || !patience) { go(); return; }
    setTimeout(go, patience);
    addEventListener('DOMContentLoaded', () => go(), { once: true });
  });
  D.content = async (args) => {
    await arrived(args.patience);
    const { e, n, answer } = first(args);
    if (answer) return answer;
    const kind = form(e) && !/^(password)$/.test(e.type) && e.tagName !== 'SELECT';
    return { state: 'ok', matches: n, arriving: document.readyState === 'loading', ...part(kind ? e.value : shown(e), args.offset, args.limit) };
  };

  const LIVE = new Set(['value', 'checked', 'selected', 'disabled', 'readOnly', 'open', 'muted', 'indeterminate']);
  D.attribute = (args) => {
    const { e, n, answer } = first(args);
    if (answer) return answer;
    const { name } = args, written = e.getAttribute(name), live = e[name], t = live === null ? 'null' : typeof live;
    const property = live === undefined || t === 'function' || t === 'symbol' ? null : t === 'object' ? String(live) : t === 'bigint' ? String(live) : live;
    const value = name === 'value' && form(e) ? String(live) : written !== null ? written : LIVE.has(name) && property !== null ? String(property) : null;
    return { state: 'ok', matches: n, name, value, present: e.hasAttribute(name), attributeValue: written, propertyValue: property, propertyType: t };
  };

  D.links = (args) => {
    const { e, answer } = first(args);
    if (answer) return answer;
    const roots = [e];
    for (let i = 0; i < roots.length; i++) for (const x of [roots[i], ...roots[i].querySelectorAll('*')]) if (x.shadowRoot && !roots.includes(x.shadowRoot)) roots.push(x.shadowRoot);
    const own = e.matches?.('a,area') ? [e] : [];
    const all = [...own, ...roots.flatMap((r) => [...r.querySelectorAll('a,area')])].filter((a) => a.hasAttribute('href') || (a.href && a.href.baseVal));
    const href = (a) => { try { return typeof a.href === 'string' ? a.href : new URL(a.href.baseVal, document.baseURI).href; } catch { return String(a.href.baseVal || ''); } };
    return { state: 'ok', total: all.length, links: all.slice(0, args.limit).map((a) => ({ text: D.tidy(a.innerText || a.textContent || a.alt).slice(0, 500), href: href(a), title: a.getAttribute('title') || '', target: typeof a.target === 'string' ? a.target : '' })) };
  };

  const axis = (e, y) => { const s = getComputedStyle(e); return /auto|scroll|overlay/.test(y ? s.overflowY : s.overflowX) && (y ? e.scrollHeight > e.clientHeight + 1 : e.scrollWidth > e.clientWidth + 1); };
  const can = (e, x, y) => (y && axis(e, true)) || (x && axis(e, false)) || (!x && !y && (axis(e, true) || axis(e, false)));
  const root = () => document.scrollingElement || document.documentElement;
  D.scroll = (args) => {
    const { x, y, selector } = args;
    let area = null;
    if (selector) {
      const { e, answer } = first(args);
      if (answer) return answer;
      for (let a = e; a && a !== document.body && a !== root(); a = D.up(a)) if (can(a, x, y)) { area = a; break; }
    } else if (root().scrollHeight <= innerHeight + 1 && root().scrollWidth <= innerWidth + 1 || (document.body && getComputedStyle(document.body).overflow === 'hidden')) {
      // A page whose window does not scroll: the largest part that does.
      const all = [...document.querySelectorAll('*')].filter((e) => e !== root() && e !== document.body && can(e, x, y) && D.visible(e));
      area = all.sort((p, q) => q.clientWidth * q.clientHeight - p.clientWidth * p.clientHeight)[0] || null;
    }
    const t = area || root(), fx = t.scrollLeft, fy = t.scrollTop;
    t.scrollBy({ left: x, top: y, behavior: 'instant' });
    const moved = { movedX: Math.round(t.scrollLeft - fx), movedY: Math.round(t.scrollTop - fy) };
    const at = area ? { scrollLeft: Math.round(t.scrollLeft), scrollTop: Math.round(t.scrollTop) } : { scrollX: Math.round(scrollX), scrollY: Math.round(scrollY) };
    return { state: 'ok', ...at, ...moved, area: area ? D.name(area) : 'the page' };
  };

  // Whether something that matches is there and can be seen; waits up to `linger` for it.
  D.seen = async (args) => {
    const end = performance.now() + args.linger;
    for (;;) {
      const { found, frame, rest } = D.find(args.selector);
      if (frame) { D.held = frame; return { state: 'frame', rest, name: D.name(frame) }; }
      const e = found.find(D.visible);
      if (e) return { state: 'ok', matches: found.length, name: D.name(e) };
      if (performance.now() >= end) return found.length ? { state: 'no', matches: found.length, name: D.name(found[0]), why: 'it is in the page but not visible' } : { state: 'none' };
      await new Promise((go) => { const t = setTimeout(go, 60); requestAnimationFrame(() => { clearTimeout(t); go(); }); });
    }
  };

  // How many elements match here, and how many of them can be seen.
  D.count = ({ selector }) => {
    const { found, frame } = D.find(selector);
    return { state: 'ok', matches: frame ? 1 : found.length, visible: frame ? 1 : found.filter(D.visible).length };
  };

  // The place of an element in the document, for a picture of it.
  D.box = async (args) => {
    const { e, all, answer } = first(args);
    if (answer) return answer;
    const seen = D.pick(all) || e;
    if (!D.visible(seen)) return { state: 'no', name: D.name(seen), why: 'it is not visible' };
    seen.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
    const r = seen.getBoundingClientRect();
    return { state: 'ok', name: D.name(seen), x: r.left, y: r.top, width: r.width, height: r.height };
  };
  D.window = () => ({ width: innerWidth, height: innerHeight, ratio: devicePixelRatio, agent: navigator.userAgent });
})();
