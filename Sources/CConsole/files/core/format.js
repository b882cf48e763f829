/** Numbers, sizes and times in words. */

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** A count, with separators. */
export const count = (value) => whole.format(value);

/** A Number of Parse: exact, with separators where these cannot mislead. */
export function number(value) {
  if (Object.is(value, -0)) return "-0";
  return Number.isSafeInteger(value) && Math.abs(value) < 1e15 ? whole.format(value) : String(value);
}

/** A number of bytes. */
export function bytes(value) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${short.format(value)} ${units[unit]}`;
}

const two = (value) => String(value).padStart(2, "0");

/** Whether dates are shown in UTC; else in the zone of the browser. */
export const zone = {
  get isUTC() { return localStorage.getItem("roost.zone") === "utc"; },
  set isUTC(value) { localStorage.setItem("roost.zone", value ? "utc" : "local"); },
};

/** A date, to the minute or the millisecond. */
export function date(iso, isExact = false) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return String(iso);
  const utc = zone.isUTC;
  const part = (name) => at[(utc ? "getUTC" : "get") + name]();
  let text = `${String(part("FullYear")).padStart(4, "0")}-${two(part("Month") + 1)}-${two(part("Date"))} ${two(part("Hours"))}:${two(part("Minutes"))}`;
  if (isExact) text += `:${two(part("Seconds"))}.${String(part("Milliseconds")).padStart(3, "0")}${utc ? " UTC" : ""}`;
  return text;
}

/** How long ago something was. */
export function ago(iso) {
  const seconds = Math.round((Date.now() - new Date(iso)) / 1000);
  const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  for (const [unit, length] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (Math.abs(seconds) >= length) return relative.format(-Math.round(seconds / length), unit);
  }
  return relative.format(-seconds, "second");
}
