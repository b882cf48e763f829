public import JSON
public import ParseModel

extension ObjectStore {
    /// A find, ready to be compiled.
    public struct FindRequest: Sendable {
        /// The class.
        public var className: String
        /// The condition.
        public var filter: Filter = .everything
        /// In which order; none leaves the order open.
        public var order: [SortKey] = []
        /// At most so many; nil for all.
        public var limit: Int?
        /// How many to leave out first.
        public var skip = 0
        /// Whether the number of all matching objects is wanted too.
        public var wantsCount = false
        /// Which objects the caller may count, where these are others than those that it may find; nil for the same.
        public var countedBy: Filter?
        /// The fields wanted; nil for all.
        public var keys: Set<Name>?
        /// Fields not wanted.
        public var excluded: Set<Name> = []
        /// Fields that are read for a rule's sake and left out of what is written.
        public var unwritten: Set<Name> = []
        /// How long a statement with a regular expression may run; nil for as long as any other.
        public var patternTimeLimit: Duration?
        /// With whose eyes.
        public var access = ReadAccess()
        /// What is included; nil for nothing.
        public var include: IncludeNode?
        /// Where the objects are read.
        public var place = ReadPlace.primary
        /// Where included objects are read.
        public var placeOfIncluded = ReadPlace.primary
        /// The access to included classes.
        public var accessToIncluded: @Sendable (String) async throws -> ReadAccess = { _ in ReadAccess() }
        /// How many bytes the row of a find by id took before, where the caller knows that; 0 where it may be large, and is
        /// not known. Nil for objects that are small, as most are.
        public var expectedBytes: Int?
        /// From how many bytes on values are shortened, included ones as well; nil for never.
        public var shorten: Int?
        /// Whether no other request may wait behind it, however quick it is expected to be.
        public var isApart = false
        /// The most bytes that the answer may have.
        public var sizeLimit = AnswerSize.standard
        /// How file names become URLs.
        public var links = FileLinks.none

        /// Asks for every object of a class.
        public init(className: String) { self.className = className }

        /// Finds one object.
        public init(className: String, objectId: String) {
            self.className = className
            filter = .field(FieldPath("objectId"), .equal(.string(objectId)))
            limit = 1
        }
    }
}
