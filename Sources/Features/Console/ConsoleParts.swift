package import Operations
package import ParseStorage

/// The operations of the console.
extension Backend {
    var classCounts: ClassCounts { ClassCounts(backend: self) }
    var references: References { References(backend: self) }
    var checkedImport: CheckedImport { CheckedImport(backend: self) }
    package var allowances: Allowances { Allowances(backend: self) }
    package var savedViews: SavedViews { SavedViews(backend: self) }
    package var operators: Operators { Operators(backend: self) }
}

/// The tables of the console.
extension ObjectStore {
    var operators: OperatorRows { OperatorRows(store: self) }
    var operatorSessions: OperatorSessionRows { OperatorSessionRows(store: self) }
    var views: ViewRows { ViewRows(store: self) }
    package var classCounts: ClassCountRows { ClassCountRows(store: self) }
    package var references: ReferenceRows { ReferenceRows(store: self) }
}
