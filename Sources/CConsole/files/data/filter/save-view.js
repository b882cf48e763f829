/** Keeps filter, order and columns under a name. */

import { button, h } from "../../core/dom.js";
import { address, go } from "../../core/router.js";
import { t } from "../../core/words.js";
import { openDialog } from "../../parts/dialog.js";
import { toast } from "../../parts/toast.js";
import { keepView } from "../views.js";
import "./words.js";

/** Asks for a name, and saves. */
export async function saveView(page) {
  const name = h("input", { autofocus: true, value: page.view?.name ?? "", maxlength: "80" });
  const shared = h("input", { type: "checkbox", checked: page.view?.shared ?? false });
  const isSaved = await openDialog({ title: t("view.title") }, (close) => {
    const save = () => name.value.trim() && close(true);
    name.addEventListener("keydown", (event) => { if (event.key === "Enter") save(); });
    return {
      body: [h("p.quiet", t("view.text")), h("label.stack", h("span.label", t("view.name")), name), h("label.line", shared, t("view.shared"))],
      foot: [button(".button", () => close(false), t("cancel")), button(".button.primary", save, t("view.save"))],
    };
  });
  if (!isSaved) return;
  try {
    const id = await keepView({
      id: page.view?.name === name.value.trim() ? page.view.id : undefined, className: page.className, name: name.value.trim(), shared: shared.checked,
      where: page.where, order: page.order, columns: page.columns.map((column) => column.name),
    });
    toast(t("view.saved", { name: name.value.trim() }));
    go(address("data", [page.className], { where: JSON.stringify(page.where), order: page.order === "-createdAt" ? "" : page.order, view: id }), true);
  } catch (problem) {
    toast(problem.message, { isBad: true });
  }
}
