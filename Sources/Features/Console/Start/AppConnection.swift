/// Generates code that connects an app to this server, for each SDK. Never contains the master key.
struct AppConnection {
    /// The server URL without a trailing slash.
    var url: String
    var appId: String
    var clientKey: String?
    var javaScriptKey: String?
    /// Whether the server rejects apps that send no key.
    var needsKey: Bool
    /// The class that the code reads. Every project has `_User`, and clients may read it.
    var className = "_User"
    /// A text field of the class, or nil to generate none.
    var field: String?

    /// Code that initializes each SDK and sends a first request, with the SDK's name.
    var snippets: [(name: String, text: String)] {
        [
            ("Swift (Parse iOS SDK)", iOS), ("Parse-Swift", swift), ("Kotlin (Android)", kotlin),
            ("JavaScript", javaScript), ("Flutter", flutter), ("curl", curl),
        ]
    }

    private var client: String? { clientKey ?? (needsKey ? "CLIENT_KEY" : nil) }
    private var readsUsers: Bool { className == "_User" }
    private var results: String { readsUsers ? "users" : "objects" }
    private var isPlain: Bool { url.hasPrefix("http:") }

    private var iOS: String {
        let key = client.map { "\n    $0.clientKey = \(Self.quoted($0))" } ?? ""
        let note = isPlain ? "// For http, set NSAllowsLocalNetworking in Info.plist.\n" : ""
        return """
            import ParseCore

            \(note)Parse.initialize(with: ParseClientConfiguration {
                $0.applicationId = \(Self.quoted(appId))\(key)
                $0.server = \(Self.quoted(url))
            })
            PFQuery(className: "\(className)").findObjectsInBackground { \(results), error in
                print(\(results) ?? [], error ?? "connected")
            }
            """
    }

    private var swift: String {
        let key = client.map { "\n    clientKey: \(Self.quoted($0))," } ?? ""
        let (type, kind) = readsUsers ? ("User", "ParseUser") : (className, "ParseObject")
        var members = field.map { ["\($0): String"] } ?? []
        if readsUsers {
            members = ["username", "email", "password"].map { $0 + ": String" }
            members += ["emailVerified: Bool", "authData: [String: [String: String]?]"]
        }
        return """
            import ParseSwift

            struct \(type): \(kind) {
                var originalData: Data?
                var objectId: String?
                var createdAt: Date?
                var updatedAt: Date?
                var ACL: ParseACL?\(members.map { "\n    var \($0)?" }.joined())
            }

            try await ParseSwift.initialize(
                applicationId: \(Self.quoted(appId)),\(key)
                serverURL: URL(string: \(Self.quoted(url)))!)
            let \(results) = try await \(type).query().find()
            print(\(results))
            """
    }

    private var kotlin: String {
        let key = client.map { "\n        .clientKey(\(Self.quoted($0, isTemplate: true)))" } ?? ""
        let note = isPlain ? "// For http, set android:usesCleartextTraffic=\"true\" in AndroidManifest.xml.\n" : ""
        return """
            import com.parse.Parse
            import com.parse.ParseObject
            import com.parse.ParseQuery

            \(note)Parse.initialize(
                Parse.Configuration.Builder(context)
                    .applicationId(\(Self.quoted(appId, isTemplate: true)))\(key)
                    .server(\(Self.quoted(url + "/", isTemplate: true)))
                    .build())
            ParseQuery.getQuery<ParseObject>("\(className)").findInBackground { \(results), error ->
                println(error ?: \(results))
            }
            """
    }

    private var javaScript: String {
        let key = (javaScriptKey ?? (needsKey ? "JAVASCRIPT_KEY" : nil)).map { ", \(Self.quoted($0))" } ?? ""
        return """
            import Parse from "parse"; // npm install parse

            Parse.initialize(\(Self.quoted(appId))\(key));
            Parse.serverURL = \(Self.quoted(url));
            const \(results) = await new Parse.Query("\(className)").find();
            console.log(\(results));
            """
    }

    private var flutter: String {
        let key = client.map { ",\n    clientKey: \(Self.quoted($0, isTemplate: true))" } ?? ""
        return """
            import 'package:parse_server_sdk_flutter/parse_server_sdk_flutter.dart';

            await Parse().initialize(
                \(Self.quoted(appId, isTemplate: true)),
                \(Self.quoted(url, isTemplate: true))\(key));
            final answer = await QueryBuilder<ParseObject>(ParseObject('\(className)')).query();
            print(answer.results);
            """
    }

    private var curl: String {
        let key = client.map { " \\\n  -H \(Self.shell("X-Parse-Client-Key: \($0)"))" } ?? ""
        let id = Self.shell("X-Parse-Application-Id: \(appId)")
        return "curl \(Self.shell(url + "/classes/\(className)")) \\\n  -H \(id)\(key)"
    }

    /// Returns a string literal. For Kotlin and Dart (`isTemplate`), also escapes `$`.
    private static func quoted(_ text: String, isTemplate: Bool = false) -> String {
        var result = "\""
        for character in text.unicodeScalars where character.value >= 0x20 && character.value != 0x7F {
            if character == "\\" || character == "\"" || (isTemplate && character == "$") { result += "\\" }
            result.unicodeScalars.append(character)
        }
        return result + "\""
    }

    private static func shell(_ text: String) -> String {
        "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
