"use strict";
// A mark tells its title at once, and shows the same operation in the other drawings.
(() => {
  const tip = document.getElementById("tip");
  const place = (event) => {
    const box = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, document.documentElement.clientWidth - box.width - 8);
    const below = event.clientY + 18;
    const y = below + box.height > innerHeight ? event.clientY - box.height - 10 : below;
    tip.style.left = Math.max(4, x) + "px";
    tip.style.top = Math.max(4, y) + "px";
  };
  const light = (op, on) => {
    for (const mark of document.querySelectorAll(`[data-op="${op}"]`)) {
      mark.classList.toggle("lit", on);
    }
  };
  for (const mark of document.querySelectorAll(".mark")) {
    const title = mark.querySelector("title");
    // The browser's own tip would cover this one. Readers find the text in the label.
    mark.setAttribute("aria-label", title.textContent);
    title.remove();
    mark.addEventListener("pointerenter", (event) => {
      tip.textContent = mark.getAttribute("aria-label");
      tip.hidden = false;
      place(event);
      if (mark.dataset.op) light(mark.dataset.op, true);
    });
    mark.addEventListener("pointermove", place);
    mark.addEventListener("pointerleave", () => {
      tip.hidden = true;
      if (mark.dataset.op) light(mark.dataset.op, false);
    });
  }
})();
