/** Who may do what with one object: in words, and as a matrix. */

import { button, h, iconButton, put } from "../../core/dom.js";
import { addWords, plain, t } from "../../core/words.js";
import { sentence, summary, who } from "../cells.js";
import { copy, isEqual, setOwn } from "../values.js";
import { pointerField } from "./pointer.js";

addWords({
  "access.open": "No ACL: everybody may read and change this.",
  "access.master": "Only the master key may read and change this.",
  "access.has": "This object has an ACL",
  "access.read": "Read",
  "access.write": "Change",
  "access.who": "Who",
  "access.addUser": "Add a user",
  "access.addRole": "Add a role",
  "access.everybody": "Add everybody",
  "access.remove": "Remove {who}",
  "access.may": "{right}: {who}",
});

/** The matrix below the sentences. */
export function edit({ value }) {
  let acl = value === undefined || value === null ? undefined : copy(value);
  const words = h("div.sentences", { role: "status" });
  const table = h("table.matrix");
  const has = h("input", { type: "checkbox", autofocus: true, checked: acl !== undefined, onchange: () => { acl = has.checked ? (value && copy(value)) ?? {} : undefined; draw(); } });
  const set = (key, right, isOn) => {
    const rights = { ...(Object.hasOwn(acl, key) ? acl[key] : {}) };
    if (isOn) rights[right] = true;
    else delete rights[right];
    setOwn(acl, key, rights);
    draw();
  };
  const box = (key, right) => h("td", h("input", {
    type: "checkbox", checked: acl[key]?.[right] === true, "aria-label": t("access.may", { right: t("access." + right), who: who(key) }), onchange: (event) => set(key, right, event.target.checked),
  }));
  const draw = () => {
    const { text, isOpen } = summary(acl);
    const sentences = acl === undefined ? [t("access.open")] : Object.entries(acl).map(([key, rights]) => sentence(key, rights)).filter(Boolean);
    put(words, (sentences.length > 0 ? sentences : [t("access.master")]).map((one) => h("p", { class: isOpen ? "warn" : "" }, plain(one || text, 200))));
    table.hidden = acl === undefined;
    adding.hidden = acl === undefined;
    if (acl === undefined) return;
    put(table, h("thead", h("tr", h("th", t("access.who")), h("th", t("access.read")), h("th", t("access.write")), h("th", h("span.sr", t("file.remove"))))),
      h("tbody", Object.keys(acl).map((key) => h("tr", h("th", { scope: "row" }, h("bdi", plain(who(key), 60))), box(key, "read"), box(key, "write"),
        h("td", iconButton("close", t("access.remove", { who: who(key) }), () => { delete acl[key]; draw(); }))))));
  };
  const find = (className, keyOf, label) => {
    const choice = pointerField(className, { label: t(label), isOpen: true, picked: (_, object) => {
      setOwn(acl, keyOf(object), { read: true });
      choice.clear();
      draw();
    } });
    return choice.element;
  };
  const adding = h(".adding", find("_User", (user) => user.objectId, "access.addUser"), find("_Role", (role) => `role:${role.name ?? role.objectId}`, "access.addRole"),
    button(".button", () => { setOwn(acl, "*", { read: true }); draw(); }, t("access.everybody")));
  draw();
  return {
    body: [h(".card", words), h("label.line", has, t("access.has")), table, adding],
    read: () => {
      if (acl !== undefined) for (const key of Object.keys(acl)) if (Object.keys(acl[key]).length === 0) delete acl[key];
      return isEqual(acl, value) && (acl === undefined) === (value === undefined) ? null : { value: acl };
    },
    focus: () => has.focus(),
  };
}
