extension StringProtocol {
    /// The text without the spaces and tabs around it.
    public func trimmingSpaces() -> Substring {
        var result = Substring(self)
        while let first = result.first, first == " " || first == "\t" { result.removeFirst() }
        while let last = result.last, last == " " || last == "\t" { result.removeLast() }
        return result
    }
}
