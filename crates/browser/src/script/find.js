// Finding elements. Runs in a world of its own in every frame: pages can neither see nor change what is here.
// Selectors: CSS; `text=…`; `role=button[name="…"]`; several joined by `>>>`, each looked for inside the shadow root
// or frame of the one before. Plain CSS that matches nothing in the document looks through its open shadow roots too,
// as if they were not there (`x-menu button`).
(() => {
  'use strict';
  if (globalThis.__deskhand) return;
  const D = (globalThis.__deskhand = {});
  class Wrong extends Error {}
  D.Wrong = Wrong;

  // Every call from outside: an answer, or {state:'wrong', why}.
  D.run = async (name, args) => {
    try {
      return await D[name](args);
    } catch (e) {
      if (e instanceof Wrong) return { state: 'wrong', why: e.message };
      throw e;
    }
  };

  // Splits at separators that stand outside of brackets and quotes; `at` gives a separator's length or 0.
  const split = (s, at) => {
    const out = [];
    let depth = 0, quote = '', from = 0;
    for (let i = 0; i < s.length; i++) {
      const c = s[i];
      if (c === '\\') i++;
      else if (quote) { if (c === quote) quote = ''; }
      else if (c === '"' || c === "'") quote = c;
      else if (c === '[' || c === '(') depth++;
      else if (c === ']' || c === ')') depth--;
      else if (depth <= 0) {
        const n = at(s, i);
        if (n) { out.push(s.slice(from, i).trim()); i += n - 1; from = i + 1; }
      }
    }
    out.push(s.slice(from).trim());
    return out;
  };
  const steps = (s) => split(s, (t, i) => (t.startsWith('>>>', i) ? 3 : 0));
  const list = (s) => split(s, (t, i) => (t[i] === ',' ? 1 : 0));
  // The parts of a selector between its descendant combinators.
  const chain = (s) => split(s, (t, i) => {
    if (!/\s/.test(t[i])) return 0;
    let j = i;
    while (j < t.length && /\s/.test(t[j])) j++;
    return /[>+~]/.test(t[i - 1] || '') || /[>+~]/.test(t[j] || '') ? 0 : j - i;
  });

  const hint = (s) => {
    if (!s.trim()) return 'it is empty; give CSS, text=… or role=…[name="…"]';
    if (/^\s*(\/|\.\.\/|\(\/|xpath=)/.test(s)) return 'XPath is not supported; use CSS, text=… or role=…[name="…"]';
    if (/:(contains|eq|visible|first|last|has-text)\b/.test(s)) return 'this is not CSS; to find by text write text=…';
    if (/[#.]\d/.test(s)) return 'a name in CSS cannot begin with a digit; write [id="…"] instead';
    return 'use CSS, text=… or role=…[name="…"]';
  };
  const probe = document.createDocumentFragment();
  const kind = (s) => (/^text=/i.test(s) ? 'text' : /^role=/i.test(s) ? 'role' : 'css');
  const check = (s) => {
    if (!s.trim()) throw new Wrong(hint(s));
    for (const step of steps(s)) {
      if (!step) throw new Wrong('>>> stands between two selectors');
      if (kind(step) !== 'css') continue;
      try { probe.querySelector(step); } catch { throw new Wrong(hint(step)); }
    }
  };

  // All roots below one: itself and every open shadow root in it, in document order.
  const roots = (root) => {
    const out = [root];
    for (let i = 0; i < out.length; i++) for (const e of out[i].querySelectorAll('*')) if (e.shadowRoot) out.push(e.shadowRoot);
    return out;
  };
  const up = (e) => e.parentElement || (e.parentNode && e.parentNode.host) || null;
  D.up = up;
  const matchesAcross = (e, parts, i) => {
    if (!e.matches(parts[i])) return false;
    if (i === 0) return true;
    for (let a = up(e); a; a = up(a)) if (matchesAcross(a, parts, i - 1)) return true;
    return false;
  };
  const css = (root, s) => {
    const plain = [...root.querySelectorAll(s)];
    if (plain.length) return plain;
    const inner = roots(root).slice(1);
    if (!inner.length) return [];
    const chains = list(s).map(chain);
    return inner.flatMap((r) => [...r.querySelectorAll('*')].filter((e) => chains.some((c) => matchesAcross(e, c, c.length - 1))));
  };

  const tidy = (s) => String(s || '').replace(/\s+/g, ' ').trim();
  D.tidy = tidy;
  const unquote = (s) => { const m = /^(["'])([\s\S]*)\1$/.exec(s.trim()); return m ? [m[2].replace(/\\(["'\\])/g, '$1'), true] : [s.trim(), false]; };
  const own = (e) => (e.tagName === 'INPUT' && /^(submit|button|reset)$/.test(e.type) ? e.value : e.textContent);
  // The innermost elements that show this text; quoted: the whole text, else a part of it in any case.
  const byText = (root, s) => {
    const [want, exact] = unquote(s.slice(5));
    const needle = exact ? tidy(want) : tidy(want).toLowerCase();
    if (!needle) throw new Wrong('text= needs a text');
    const holds = (t) => (exact ? tidy(t).includes(needle) : tidy(t).toLowerCase().includes(needle));
    const has = (t) => (exact ? tidy(t) === needle : holds(t));
    const out = [];
    const walk = (node) => {
      let inside = false;
      for (const e of node.children) {
        if (/^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|HEAD)$/.test(e.tagName) || !holds(own(e))) continue;
        if (walk(e)) inside = true;
        // `innerText` leaves out what is not shown, such as scripts within.
        else if (has(e.innerText ?? own(e)) || (e.tagName === 'INPUT' && has(own(e)))) { out.push(e); inside = true; }
      }
      return inside;
    };
    roots(root).forEach(walk);
    return out;
  };

  const INPUT_ROLES = { button: 'button', submit: 'button', reset: 'button', image: 'button', checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox', hidden: '' };
  const TAG_ROLES = { BUTTON: 'button', TEXTAREA: 'textbox', OPTION: 'option', NAV: 'navigation', MAIN: 'main', DIALOG: 'dialog', TABLE: 'table', TR: 'row', TD: 'cell', TH: 'columnheader', UL: 'list', OL: 'list', LI: 'listitem', IMG: 'img', FORM: 'form', HR: 'separator', PROGRESS: 'progressbar', ARTICLE: 'article', ASIDE: 'complementary', FIELDSET: 'group', OUTPUT: 'status', SUMMARY: 'button' };
  D.role = (e) => {
    const given = tidy(e.getAttribute('role')).split(' ')[0];
    if (given) return given.toLowerCase();
    const t = e.tagName;
    if (t === 'A' || t === 'AREA') return e.hasAttribute('href') ? 'link' : '';
    if (t === 'INPUT') return e.list ? 'combobox' : INPUT_ROLES[e.type] ?? 'textbox';
    if (t === 'SELECT') return e.multiple || e.size > 1 ? 'listbox' : 'combobox';
    if (/^H[1-6]$/.test(t)) return 'heading';
    return TAG_ROLES[t] || '';
  };
  D.label = (e) => {
    const by = tidy(e.getAttribute('aria-labelledby'));
    if (by) return tidy(by.split(' ').map((i) => e.getRootNode().getElementById?.(i)?.textContent).join(' '));
    if (e.getAttribute('aria-label')) return tidy(e.getAttribute('aria-label'));
    if (e.labels && e.labels.length) return tidy([...e.labels].map((l) => l.textContent).join(' '));
    if (e.tagName === 'IMG' || e.tagName === 'AREA' || (e.tagName === 'INPUT' && e.type === 'image')) return tidy(e.alt || e.title);
    if (e.tagName === 'INPUT' && /^(submit|button|reset)$/.test(e.type)) return tidy(e.value || e.type);
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.tagName)) return tidy(e.title || e.getAttribute('placeholder'));
    const alts = [...e.querySelectorAll('img[alt],svg title')].map((n) => n.alt || '').join(' ');
    return tidy(e.textContent + ' ' + alts) || tidy(e.title);
  };
  const byRole = (root, s) => {
    const m = /^role=\s*([\w-]+)\s*(?:\[\s*name\s*=\s*([\s\S]+?)\s*\])?\s*$/i.exec(s);
    if (!m) throw new Wrong('write role=button or role=button[name="Save"]');
    const role = m[1].toLowerCase();
    const all = roots(root).flatMap((r) => [...r.querySelectorAll('*')]).filter((e) => D.role(e) === role && !e.closest('[aria-hidden=true]'));
    if (m[2] === undefined) return all;
    const want = tidy(unquote(m[2])[0]).toLowerCase();
    const named = all.map((e) => [e, D.label(e).toLowerCase()]);
    const exact = named.filter(([, n]) => n === want);
    return (exact.length ? exact : named.filter(([, n]) => n.includes(want))).map(([e]) => e);
  };

  const engines = { css, text: byText, role: byRole };
  // {found: elements} or, where a step ends at a frame, {frame, rest} for whoever can look into that frame.
  D.find = (s) => {
    check(s);
    let scopes = [document];
    const all = steps(s);
    for (let i = 0; i < all.length; i++) {
      const hits = [...new Set(scopes.flatMap((r) => engines[kind(all[i])](r, all[i])))];
      if (i === all.length - 1) return { found: hits };
      const frame = hits.find((e) => /^(IFRAME|FRAME)$/.test(e.tagName));
      if (frame) return { found: [], frame, rest: all.slice(i + 1).join(' >>> ') };
      scopes = hits.map((e) => e.shadowRoot || e);
    }
    return { found: [] };
  };

  D.visible = (e) => {
    if (e.tagName === 'OPTION' || e.tagName === 'OPTGROUP') { const s = e.closest('select'); return !!s && D.visible(s); }
    if (!e.isConnected || !e.checkVisibility({ visibilityProperty: true })) return false;
    const r = e.getBoundingClientRect();
    if (r.width > 0 && r.height > 0) return true;
    return [...e.children].some((c) => D.visible(c)) || (e.tagName === 'AREA');
  };
  // Of several matches the first that can be seen; else the first.
  D.pick = (found) => found.find(D.visible) || found[0];

  D.name = (e) => {
    if (!e || !e.tagName) return 'the page';
    const t = e.tagName.toLowerCase();
    if (e.id) return t + '#' + e.id;
    const c = typeof e.className === 'string' ? e.className.trim().split(/\s+/).filter(Boolean).slice(0, 2) : [];
    const words = tidy(e.getAttribute('aria-label') || own(e)).slice(0, 30);
    return t + c.map((x) => '.' + x).join('') + (words && e.children.length < 5 ? ` "${words}"` : '');
  };
})();
