/** The editor of files: a safe preview, and a new file by choice or drop. */

import { send } from "../../core/api.js";
import { button, h, icon, problemLine, put } from "../../core/dom.js";
import { session } from "../../core/session.js";
import { addWords, bytes, plain, shown, t } from "../../core/words.js";
import { fileName } from "../cells.js";
import { copyButton } from "../../parts/states.js";

addWords({
  "file.drop": "or drop one here", "file.none": "No file yet", "file.remove": "Remove",
  "file.big": "{name} has {size}; this server takes {limit} at most.",
  "file.uploading": "Uploading {name}…", "file.noPreview": "No preview for {type}", "file.failed": "The file could not be read: {reason}",
});

/** Types that browsers display without running anything. */
const IMAGE = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
const MEDIA = /^(video|audio)\//;
const MOST = 50_000_000;
const TEXT = /^(text\/(plain|csv|markdown)|application\/json)/;

/** Creates the preview and file chooser. Without `close`, it is part of a form. */
export function edit({ value, save, close }) {
  const preview = h(".preview");
  const problem = problemLine();
  const input = h("input.sr", { type: "file", onchange: () => input.files[0] && upload(input.files[0]) });
  const zone = h("label.drop", icon("file"), h("span.link", t("word.choose")), h("span.quiet", t("file.drop")), input);
  const upload = async (file) => {
    put(problem);
    const limit = session.peek().server.maxUploadSize;
    if (limit && file.size > limit) {
      put(problem, t("file.big", { name: file.name, size: bytes(file.size), limit: bytes(limit) }));
      return;
    }
    put(preview, h("p.quiet", t("file.uploading", { name: file.name })), h("progress"));
    try {
      const { body } = await store(file);
      value = { __type: "File", name: body.name, url: body.url };
      save({ value });
      if (close) close();
      else draw();
    } catch (refusal) {
      put(problem, plain(refusal.message, 300));
      draw();
    }
  };
  takeDrops(zone, upload);
  const draw = () => (value ? show(preview, value) : put(preview, h("p.quiet", t("file.none"))));
  draw();
  return {
    body: [preview, value && h(".line.wrap", h("strong", shown(fileName(value.name), 120)), h(".space"),
      copyButton(value.url ?? value.name, t("word.copy")),
      button(".button", () => { save({ value: undefined }); close(); }, t("file.remove"))),
    value?.url && h("code.quiet.wrap", plain(value.url, 400)), zone, problem],
  };
}

/** Uploads a file under a name that the server accepts. */
export function store(file) {
  const name = file.name.replace(/[^A-Za-z0-9._ @-]/g, "_").replace(/^[^A-Za-z0-9_]+/, "") || "file";
  return send("POST", "parse/files/" + encodeURIComponent(name), { file, headers: { "Content-Type": file.type || "application/octet-stream" } });
}

/** Passes files dropped on an element to a function. */
export function takeDrops(element, take, scope) {
  for (const kind of ["dragover", "drop"]) {
    element.addEventListener(kind, (event) => {
      event.preventDefault();
      if (kind === "drop" && event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
    }, { signal: scope });
  }
}

// Without a leading slash, the path would become part of the host.
const read = (url, signal) => fetch(location.origin + new URL(url).pathname.replace(/^\/*/, "/"), { cache: "force-cache", credentials: "omit", signal });

/** The maximum size in bytes of an image with a thumbnail. */
const THUMBNAIL = 4_000_000;

/** Creates a thumbnail that loads when it becomes visible, or an icon for files that aren't images. */
export function thumbnail({ name, type = "", size, url }, scope) {
  const isImage = IMAGE.test(type);
  const element = h("span.thumbnail", icon(isImage ? "image" : "file"));
  if (!isImage || size > THUMBNAIL) return element;
  const observer = new IntersectionObserver(async ([{ isIntersecting }]) => {
    if (!isIntersecting) return;
    observer.disconnect();
    try {
      const answer = await read(url, scope);
      const picture = await createImageBitmap(await answer.blob(), { resizeWidth: 80, resizeQuality: "medium" });
      const canvas = h("canvas", { width: String(picture.width), height: String(picture.height), role: "img", "aria-label": plain(fileName(name), 80) });
      canvas.getContext("bitmaprenderer").transferFromImageBitmap(picture);
      put(element, canvas);
    } catch {
      // The icon stays if the image can't be loaded.
    }
  });
  observer.observe(element);
  scope.addEventListener("abort", () => observer.disconnect());
  return element;
}

/** Displays a file from a blob, never from its URL. */
export async function show(host, value) {
  put(host, h("p.quiet", "\u2026"));
  try {
    const answer = await read(value.url);
    if (!answer.ok) throw new Error(answer.status);
    const size = Number(answer.headers.get("content-length"));
    if (size > MOST) {
      answer.body.cancel();
      put(host, h("p.quiet", t("file.noPreview", { type: bytes(size) })));
      return;
    }
    const blob = await answer.blob();
    if (!host.isConnected) return;
    const type = blob.type.split(";")[0];
    const note = h("p.quiet", `${plain(type)} \u00b7 ${bytes(blob.size)}`);
    if (IMAGE.test(type)) put(host, h("img", { src: address(host, blob, type), alt: plain(fileName(value.name)) }), note);
    else if (MEDIA.test(type)) put(host, h(type.startsWith("video") ? "video" : "audio", { src: address(host, blob, type), controls: true }), note);
    else if (TEXT.test(type)) put(host, h("pre", shown((await blob.slice(0, 4000).text()), 4000)), note);
    else put(host, h("p.quiet", t("file.noPreview", { type })), note);
  } catch (problem) {
    put(host, h("p.quiet", t("file.failed", { reason: problem.message })));
  }
}

/** Returns a blob URL, valid until its dialog closes or another file is shown. */
function address(host, blob, type) {
  const url = URL.createObjectURL(blob.slice(0, blob.size, type));
  const end = () => URL.revokeObjectURL(url);
  previews.get(host)?.();
  previews.set(host, end);
  host.closest("dialog")?.addEventListener("close", end);
  return url;
}

const previews = new WeakMap();
