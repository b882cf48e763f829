/// Names of pages and of their files.
enum PageName {
    /// A name with small letters, and low lines before the words.
    static func snakeCase(_ name: String) -> String {
        name.reduce(into: "") { name, letter in
            name += letter.isUppercase ? "_" + letter.lowercased() : String(letter)
        }
    }
}
