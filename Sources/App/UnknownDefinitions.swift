extension RoostServer {
    /// Class definitions that the binary does not have.
    public struct UnknownDefinitions: Error, CustomStringConvertible {
        let name: String
        /// The message for the operator.
        public var description: String { "option classDefinitions: there are no definitions named \(name)" }
    }
}
