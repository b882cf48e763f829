import HTTP

/// The header fields by which browsers keep the page to itself.
enum ConsoleHeaders {
    /// Those of every answer.
    static let common: [(String, String)] = [
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("X-Frame-Options", "DENY"),
        ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    /// What the page may not do, whatever runs in it.
    private static let permissions = [
        "accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "fullscreen", "geolocation",
        "gyroscope", "hid", "idle-detection", "magnetometer", "microphone", "midi", "payment", "picture-in-picture",
        "publickey-credentials-get", "screen-wake-lock", "serial", "usb", "web-share", "xr-spatial-tracking",
    ].map { "\($0)=()" }.joined(separator: ", ")

    /// Those of the page.
    ///
    /// - Parameters:
    ///   - origin: The origin under which it is opened.
    ///   - path: The path of the console.
    static func shell(origin: String, path: String) -> [(String, String)] {
        // Not 'self': files that clients uploaded lie in the same origin.
        let assets = "\(origin)\(path)/a/"
        let policy =
            "default-src 'none'; script-src \(assets); style-src \(assets); img-src \(assets) blob:; media-src blob:; "
            + "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
            + "require-trusted-types-for 'script'; trusted-types 'none'"
        return [("Content-Security-Policy", policy), ("Permissions-Policy", permissions)]
    }
}
