/// The SQL that the server installs and the class definitions of the music apps, embedded in the binary.
public enum Schema {
    /// Functions that Roost's statements call.
    public static var functions: [UInt8] { PackageResources.functions_sql }
    /// Functions that parse-server expects to find.
    public static var parseServerFunctions: [UInt8] { PackageResources.parseServerFunctions_sql }
    /// Returns the class definitions that a name in the option `classDefinitions` denotes, as a JSON list of schemas,
    /// or nil for an unknown name.
    public static func classDefinitions(_ name: String) -> [UInt8]? {
        name == "music" ? PackageResources.music_json : nil
    }
}
