/** The filter above the rows. Chips for its conditions, and the editor of one, are loaded where there is something to show. */

import { button, h, put } from "../../core/dom.js";
import { icon } from "../../core/icons.js";
import { t } from "../../core/words.js";

/** The bar of a page with `{ className, where, change(next) }`. */
export function filterBar(page) {
  const element = h(".filters", { role: "group", "aria-label": t("filter.add") });
  const chips = () => import("./chips.js");
  const add = button(".plain.add", (event) => page.addCondition(undefined, event.currentTarget), icon("filter"), t("filter.add"));
  page.addCondition = async (field, anchor = add) => (await chips()).addCondition(page, anchor.isConnected ? anchor : element, field);
  page.addGroup = async (group) => (await chips()).addGroup(page, group);
  put(element, add);
  if (Object.keys(page.where).length > 0) chips().then(({ drawChips }) => drawChips(page, element));
  return element;
}
