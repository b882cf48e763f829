extension OptionTable {
    /// Advice on indexes.
    static let indexAdvice: [OptionDefinition] = [
        .choiceOption(
            "indexAdvice", "ROOST_INDEX_ADVICE", \.indexAdvice,
            "What is done about questions that take long without an index: off; tell (roost doctor and /index_advice), "
                + "the default; build, which builds indexes beside other work"),
        .whole(
            "maximumAdvisedIndexes", "ROOST_MAXIMUM_ADVISED_INDEXES", \.maximumAdvisedIndexes, in: 1...100,
            "How many indexes indexAdvice builds for a class at most"),
    ]
}

extension Configuration {
    /// What is done about questions that take long without an index.
    public enum IndexAdvice: String, Sendable, CaseIterable {
        /// Nothing is noted.
        case off
        /// They are noted, and which indexes would help is answered to administrators.
        case report = "tell"
        /// These indexes are built.
        case build
    }
}
