"use strict";
// A click on a line scrolls to its counterpart on the other side.  Further clicks cycle through all
// counterparts.
for (const line of document.querySelectorAll(".s2s-line")) {
  line.addEventListener("click", () => {
    const own = [...line.classList].find((name) => /^p\d+$/.test(name));
    if (!own || getSelection().toString()) return;
    const left = line.closest(".s2s-left") !== null;
    const others = [...document.querySelectorAll(`${left ? ".s2s-right" : ".s2s-left"} .${own}`)];
    if (!others.length) return;
    const shown = others.findIndex((other) => other.classList.contains("found"));
    for (const found of document.querySelectorAll(".found")) found.classList.remove("found");
    const next = others[(shown + 1) % others.length];
    next.classList.add("found");
    next.scrollIntoView({ block: "nearest", behavior: "smooth" });
  });
}
