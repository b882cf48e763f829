/** Makes a class. */

import { parse } from "../../core/api.js";
import { button, h, put } from "../../core/dom.js";
import { addWords, t } from "../../core/words.js";
import { replaceClass, loadCounts } from "../../data/schema.js";
import { openDialog } from "../../parts/dialog.js";
import { toast } from "../../parts/toast.js";

addWords({
  "class.name": "Name",
  "class.hint": "Letters, digits and _, beginning with a letter: Track",
  "class.create": "Create class",
  "class.done": "Class {class} created",
});

/** Asks for a name; gives it when the class is there. */
export function makeClass() {
  const input = h("input", { autofocus: true, autocomplete: "off", spellcheck: "false", maxlength: "60" });
  const problem = h("p.problem", { role: "alert" });
  return openDialog({ title: t("classes.new") }, (close) => {
    const create = async () => {
      const name = input.value.trim();
      if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) {
        put(problem, t("class.hint"));
        input.focus();
        return;
      }
      try {
        const { body } = await parse.post("schemas/" + name, { className: name });
        replaceClass(body);
        loadCounts();
        toast(t("class.done", { class: name }));
        close(name);
      } catch (refusal) {
        put(problem, refusal.message);
        input.focus();
      }
    };
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") create(); });
    return {
      body: [h("label.stack", h("span.label", t("class.name")), input), h("p.quiet", t("class.hint")), problem],
      foot: [button(".button", () => close(), t("cancel")), button(".button.primary", create, t("class.create"))],
    };
  });
}
