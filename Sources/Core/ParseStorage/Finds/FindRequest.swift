public import JSON
public import Limits
public import ParseModel

extension ObjectStore {
    /// The options of a find.
    public struct FindRequest: Sendable {
        public var className: String
        public var filter: Filter = .everything
        /// The sort order. If empty, a `near` condition sorts by distance, and otherwise the order is unspecified.
        public var order: [SortKey] = []
        /// The maximum number of objects, or nil for no limit.
        public var limit: Int?
        /// The number of objects to skip.
        public var skip = 0
        /// Whether to also count all matching objects.
        public var wantsCount = false
        /// The access filter for counting, or nil if it is the same as for finding.
        public var countedBy: Filter?
        /// The fields to return besides the id, dates, ACL and relations, or nil for all.
        public var keys: Set<Name>?
        /// The fields to leave out. The id, dates and ACL stay.
        public var excluded: Set<Name> = []
        /// Fields that are read because owner rules need them, but that the response leaves out.
        public var unwritten: Set<Name> = []
        /// The time limit for statements with a regular expression, or nil for the default limit.
        public var patternTimeLimit: Duration?
        /// The caller's access.
        public var access = ReadAccess()
        /// The pointers to include, or nil for none.
        public var include: IncludeNode?
        /// The database server to read from.
        public var place = ReadPlace.primary
        /// The database server to read included objects from.
        public var placeOfIncluded = ReadPlace.primary
        /// A function that returns the caller's access to an included class.
        public var accessToIncluded: @Sendable (String) async throws -> ReadAccess = { _ in ReadAccess() }
        /// The expected cost, or nil if it is unknown. A slow find doesn't share a connection, so that no other request
        /// waits behind it. For a find by id, nil means a small row, and a size of 0 a row that may be large.
        public var cost: Cost?
        /// The size in bytes above which values are shortened, including those of included objects, or nil for never.
        public var shorten: Int?
        /// The maximum size of the response in bytes.
        public var sizeLimit = AnswerSize.standard
        /// The URLs to write for files.
        public var links = FileLinks.none

        public init(className: String) { self.className = className }

        public init(className: String, objectId: String) {
            self.className = className
            filter = .field(FieldPath("objectId"), .equal(.string(objectId)))
            limit = 1
        }
    }
}
