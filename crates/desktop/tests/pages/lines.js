// Lists the lines of the page, each with its box, when the address ends with #lines.
addEventListener("load", () => {
  if (location.hash !== "#lines") return;
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim();
    if (!text || walker.currentNode.parentElement.closest("script,style")) continue;
    const block = walker.currentNode.parentElement.closest("[data-line]");
    if (block?.dataset.seen) continue;
    const range = document.createRange();
    range.selectNodeContents(block ?? walker.currentNode);
    const box = range.getBoundingClientRect();
    if (block) block.dataset.seen = "1";
    lines.push({ text: (block ? block.textContent : text).trim(), x: Math.round(box.x), y: Math.round(box.y), width: Math.round(box.width), height: Math.round(box.height) });
  }
  document.body.innerHTML = '<pre id="lines"></pre>';
  document.getElementById("lines").textContent = JSON.stringify(lines);
});
