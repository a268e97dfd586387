"use strict";
// Headings become buttons that sort their table; without scripts it stays a table by rank.
function key(row, column, isText) {
  const value = row.cells[column].dataset.value;
  return isText ? value : Number(value);
}
function sort(table, heads, column) {
  const down = heads[column].getAttribute("aria-sort") === "ascending";
  const isText = heads[column].dataset.kind === "text";
  const compare = (a, b) => (isText ? a.localeCompare(b) : a - b);
  const rows = [...table.tBodies[0].rows].sort((a, b) => {
    const order = compare(key(a, column, isText), key(b, column, isText));
    return (down ? -order : order) || key(a, 0, false) - key(b, 0, false);
  });
  table.tBodies[0].append(...rows);
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
}
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, heads, column));
    head.append(button);
  });
}
