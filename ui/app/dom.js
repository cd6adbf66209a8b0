/**
 * Pages are written as descriptions of what is to be seen, and the document is brought in line with them. Data only ever
 * becomes text nodes and attributes, never markup. A value is written into a control only when the description of it changed,
 * so what the person is typing stays; a tick always is as described, so a refused order does not look done. An element that
 * stays keeps its focus.
 */

/**
 * @typedef {object} Description
 * @property {string} tag
 * @property {string | undefined} key
 * @property {Props} props
 * @property {(Description | string)[]} children
 *
 * @typedef {Description | string | number | boolean | null | undefined | any[]} Child
 * @typedef {{ [name: string]: unknown, key?: string, on?: { [event: string]: (event: any) => void } }} Props
 */

/** Set as properties: the attribute of the same name says only how they began. */
const PROPERTIES = new Set(["value", "checked", "indeterminate"]);
const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "circle", "rect"]);

/** @type {WeakMap<Node, Description>} */
const shown = new WeakMap();

/**
 * Describes an element. `on` holds its listeners, `key` (else `id`) tells it from its siblings, every other property is an
 * attribute: `false`, `null` and `undefined` leave it away.
 * @param {string} tag
 * @param {Props | null} [props]
 * @param {...Child} children
 * @returns {Description}
 */
export function h(tag, props, ...children) {
  const all = props ?? {};
  const key = all.key ?? (typeof all.id === "string" ? all.id : undefined);
  return { tag, key, props: all, children: flat(children) };
}

/**
 * Brings the children of `parent` in line.
 * @param {Element} parent
 * @param {Child} children
 */
export function render(parent, children) {
  reconcile(parent, flat([children]));
}

/**
 * @param {Child[]} children
 * @returns {(Description | string)[]}
 */
function flat(children) {
  /** @type {(Description | string)[]} */
  const all = [];
  for (const child of children) {
    if (Array.isArray(child)) all.push(...flat(child));
    else if (child === null || child === undefined || typeof child === "boolean") continue;
    else all.push(typeof child === "number" ? String(child) : child);
  }
  return all;
}

/**
 * @param {Element} parent
 * @param {(Description | string)[]} wanted
 */
function reconcile(parent, wanted) {
  const left = new Set(parent.childNodes);
  /** @type {ChildNode | null} */
  let next = parent.firstChild;
  for (const child of wanted) {
    const found = counterpart(left, child);
    const node = /** @type {ChildNode} */ (found ?? create(child));
    if (found) left.delete(found);
    // What goes away must go first: an element that stays must not be moved, or it loses the focus.
    while (next && next !== node && found && !stays(next, wanted)) next = drop(next, left);
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
    if (typeof child === "string") {
      if (node.nodeValue !== child) node.nodeValue = child;
    } else {
      apply(/** @type {Element} */ (node), child);
    }
  }
  for (const node of left) node.remove();
}

/**
 * @param {ChildNode} node
 * @param {Set<ChildNode>} left
 */
function drop(node, left) {
  const next = node.nextSibling;
  left.delete(node);
  node.remove();
  return next;
}

/**
 * Whether some wanted child could be this node.
 * @param {ChildNode} node
 * @param {(Description | string)[]} wanted
 */
function stays(node, wanted) {
  return wanted.some((child) => same(node, child));
}

/**
 * @param {Set<ChildNode>} left
 * @param {Description | string} child
 */
function counterpart(left, child) {
  for (const node of left) if (same(node, child)) return node;
  return undefined;
}

/**
 * @param {ChildNode} node
 * @param {Description | string} child
 */
function same(node, child) {
  const was = shown.get(node);
  if (typeof child === "string") return node.nodeType === Node.TEXT_NODE;
  return was !== undefined && was.tag === child.tag && was.key === child.key;
}

/** @param {Description | string} child @returns {Node} */
function create(child) {
  if (typeof child === "string") return document.createTextNode(child);
  const node = SVG_TAGS.has(child.tag) ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
  shown.set(node, { tag: child.tag, key: child.key, props: {}, children: [] });
  return node;
}

/**
 * @param {Element} node
 * @param {Description} wanted
 */
function apply(node, wanted) {
  const before = shown.get(node)?.props ?? {};
  shown.set(node, wanted);
  for (const name of Object.keys(before)) if (!(name in wanted.props)) write(node, name, undefined);
  // Children first: a select takes its value only once it has its options.
  reconcile(node, wanted.children);
  for (const [name, value] of Object.entries(wanted.props)) {
    if (name === "on") listen(node, before.on ?? {}, wanted.props.on ?? {});
    else if (before[name] !== value || name === "checked") write(node, name, value);
  }
  if (before.on && !wanted.props.on) listen(node, before.on, {});
}

/**
 * @param {Element} node
 * @param {string} name
 * @param {unknown} value
 */
function write(node, name, value) {
  if (name === "key" || name === "on") return;
  if (PROPERTIES.has(name)) {
    /** @type {any} */ (node)[name] = value ?? (name === "value" ? "" : false);
  } else if (value === false || value === null || value === undefined) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @type {WeakMap<Element, Map<string, (event: Event) => void>>} */
const listeners = new WeakMap();

/**
 * One real listener per event and element, which calls the newest handler.
 * @param {Element} node
 * @param {{ [event: string]: (event: any) => void }} before
 * @param {{ [event: string]: (event: any) => void }} wanted
 */
function listen(node, before, wanted) {
  const own = listeners.get(node) ?? new Map();
  listeners.set(node, own);
  for (const name of new Set([...Object.keys(before), ...Object.keys(wanted)])) {
    if (wanted[name] && !own.has(name)) node.addEventListener(name, (event) => own.get(name)?.(event));
    own.set(name, wanted[name]);
  }
}
