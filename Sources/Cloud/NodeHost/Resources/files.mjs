// Files in file triggers.

/** Creates a file of the SDK. */
export function fileOf(json) {
  const file = json.url
    ? Parse.File.fromJSON({ __type: 'File', name: json.name, url: json.url })
    : new Parse.File(json.name, { base64: json.base64 ?? '' }, json.contentType);
  if (json.url && json.base64 !== undefined) file._data = json.base64;
  if (json.metadata) file.setMetadata?.(json.metadata);
  if (json.tags) file.setTags?.(json.tags);
  return file;
}

/** Returns the file to store after the trigger. */
export async function fileJSON(file, sent) {
  const url = typeof file.url === 'function' ? file.url() : undefined;
  const data = url ? undefined : await file.getData();
  return {
    name: file.name(),
    url: url ?? undefined,
    contentType: file._source?.type || sent.contentType,
    base64: data === sent.base64 ? undefined : data,
    metadata: file.metadata?.() ?? sent.metadata,
    tags: file.tags?.() ?? sent.tags,
  };
}
