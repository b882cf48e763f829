import Encoding
import JSON

/// Maps file extensions to MIME types, and decides which types browsers may display.
package enum FileTypes {
    /// Returns the type for a file name's extension, ignoring case, or nil if the extension is missing or unknown.
    package static func type(ofFile name: String) -> MediaType? {
        byExtension[FilePaths.fileExtension(of: name).asciiLowercased]
    }

    /// Returns the preferred extension of a type, or nil if unknown.
    package static func fileExtension(for type: MediaType) -> String? {
        extensions[type.essence]
    }

    /// Returns the `Content-Type` value of a type, with UTF-8 as the charset of text.
    package static func contentType(_ essence: String) -> String {
        essence.hasPrefix("text/") || essence == "application/javascript" ? essence + "; charset=utf-8" : essence
    }

    /// Whether a browser may display a file of this type. Only types that can't run scripts are listed; others, such as
    /// `video/x+xml`, which some browsers parse as a document, are downloaded.
    package static func isShownInline(_ type: MediaType) -> Bool {
        inlineTypes.contains(type.essence)
    }

    private static let inlineTypes: Set<Name> = [
        "text/plain", "text/csv", "text/vtt", "application/pdf", "application/json", "application/ogg",
        "application/vnd.apple.mpegurl",
        "image/jpeg", "image/jpg", "image/pjpeg", "image/png", "image/apng", "image/gif", "image/webp", "image/avif",
        "image/heic", "image/heif", "image/bmp", "image/tiff", "image/vnd.microsoft.icon", "image/x-icon", "image/jxl",
        "image/jp2",
        "audio/mpeg", "audio/mp3", "audio/mp4", "audio/x-m4a", "audio/m4a", "audio/aac", "audio/wav", "audio/x-wav",
        "audio/wave", "audio/vnd.wave", "audio/ogg", "audio/opus", "audio/flac", "audio/x-flac", "audio/webm",
        "audio/aiff", "audio/x-aiff", "audio/midi", "audio/x-midi", "audio/x-caf", "audio/amr", "audio/3gpp",
        "audio/x-mpegurl", "audio/mpegurl",
        "video/mp4", "video/x-m4v", "video/quicktime", "video/webm", "video/ogg", "video/mpeg", "video/x-msvideo",
        "video/x-matroska", "video/x-ms-wmv", "video/x-flv", "video/3gpp", "video/3gpp2", "video/mp2t",
    ]

    /// Extensions and their types. The first extension of a type is the preferred one.
    private static let table: [(String, StaticString)] = [
        ("txt", "text/plain"), ("text", "text/plain"), ("log", "text/plain"), ("conf", "text/plain"),
        ("html", "text/html"), ("htm", "text/html"), ("shtml", "text/html"), ("css", "text/css"),
        ("csv", "text/csv"), ("tsv", "text/tab-separated-values"), ("md", "text/markdown"),
        ("markdown", "text/markdown"), ("ics", "text/calendar"), ("vcf", "text/vcard"), ("vtt", "text/vtt"),
        ("rtf", "application/rtf"), ("js", "text/javascript"), ("mjs", "text/javascript"), ("xml", "text/xml"),
        ("xml", "application/xml"), ("xsl", "application/xml"), ("xsd", "application/xml"),
        ("xhtml", "application/xhtml+xml"), ("xht", "application/xhtml+xml"), ("xslt", "application/xslt+xml"),
        ("rdf", "application/rdf+xml"), ("owl", "application/rdf+xml"), ("rng", "application/xml"),
        ("mathml", "application/mathml+xml"), ("json", "application/json"), ("map", "application/json"),
        ("geojson", "application/geo+json"), ("webmanifest", "application/manifest+json"),
        ("yaml", "text/yaml"), ("yml", "text/yaml"), ("toml", "application/toml"), ("sql", "application/sql"),
        ("jpg", "image/jpeg"), ("jpeg", "image/jpeg"), ("jpe", "image/jpeg"), ("png", "image/png"),
        ("apng", "image/apng"), ("gif", "image/gif"), ("webp", "image/webp"), ("avif", "image/avif"),
        ("heic", "image/heic"), ("heif", "image/heif"), ("bmp", "image/bmp"), ("tiff", "image/tiff"),
        ("tif", "image/tiff"), ("ico", "image/vnd.microsoft.icon"), ("psd", "image/vnd.adobe.photoshop"),
        ("jxl", "image/jxl"), ("jp2", "image/jp2"), ("svg", "image/svg+xml"), ("svgz", "image/svg+xml"),
        ("mp3", "audio/mpeg"), ("mp2", "audio/mpeg"), ("mpga", "audio/mpeg"), ("mp3", "audio/mp3"),
        ("m4a", "audio/mp4"), ("m4a", "audio/x-m4a"), ("aac", "audio/aac"), ("wav", "audio/wav"),
        ("wav", "audio/x-wav"), ("wav", "audio/wave"), ("ogg", "audio/ogg"), ("oga", "audio/ogg"),
        ("opus", "audio/opus"), ("flac", "audio/flac"), ("flac", "audio/x-flac"), ("weba", "audio/webm"),
        ("aiff", "audio/aiff"), ("aif", "audio/aiff"), ("aiff", "audio/x-aiff"), ("mid", "audio/midi"),
        ("midi", "audio/midi"), ("caf", "audio/x-caf"), ("amr", "audio/amr"), ("m3u", "audio/x-mpegurl"),
        ("mp4", "video/mp4"), ("m4v", "video/mp4"), ("m4v", "video/x-m4v"), ("mov", "video/quicktime"),
        ("qt", "video/quicktime"), ("webm", "video/webm"), ("ogv", "video/ogg"), ("mpeg", "video/mpeg"),
        ("mpg", "video/mpeg"), ("avi", "video/x-msvideo"), ("mkv", "video/x-matroska"), ("wmv", "video/x-ms-wmv"),
        ("flv", "video/x-flv"), ("3gp", "video/3gpp"), ("3g2", "video/3gpp2"), ("ts", "video/mp2t"),
        ("m3u8", "application/vnd.apple.mpegurl"), ("ogx", "application/ogg"), ("pdf", "application/pdf"),
        ("ps", "application/postscript"), ("epub", "application/epub+zip"), ("doc", "application/msword"),
        ("xls", "application/vnd.ms-excel"), ("ppt", "application/vnd.ms-powerpoint"),
        ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
        ("odt", "application/vnd.oasis.opendocument.text"),
        ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
        ("odp", "application/vnd.oasis.opendocument.presentation"), ("zip", "application/zip"),
        ("gz", "application/gzip"), ("gz", "application/x-gzip"), ("tgz", "application/gzip"),
        ("tar", "application/x-tar"), ("bz2", "application/x-bzip2"), ("xz", "application/x-xz"),
        ("zst", "application/zstd"), ("7z", "application/x-7z-compressed"), ("rar", "application/vnd.rar"),
        ("jar", "application/java-archive"), ("apk", "application/vnd.android.package-archive"),
        ("plist", "application/x-plist"), ("gpx", "application/gpx+xml"),
        ("kml", "application/vnd.google-earth.kml+xml"), ("swf", "application/x-shockwave-flash"),
        ("wasm", "application/wasm"), ("bin", "application/octet-stream"), ("exe", "application/x-msdownload"),
        ("dmg", "application/x-apple-diskimage"), ("iso", "application/x-iso9660-image"),
        ("woff", "font/woff"), ("woff2", "font/woff2"), ("ttf", "font/ttf"), ("otf", "font/otf"),
        ("p12", "application/x-pkcs12"), ("pem", "application/x-pem-file"), ("usdz", "model/vnd.usdz+zip"),
        ("glb", "model/gltf-binary"), ("gltf", "model/gltf+json"), ("stl", "model/stl"), ("obj", "model/obj"),
    ]

    private static let byExtension = Dictionary(table.map { ($0.0, MediaType(known: $0.1)) }) { first, _ in first }
    private static let extensions = Dictionary(table.map { ("\($0.1)", $0.0) }) { first, _ in first }
}
