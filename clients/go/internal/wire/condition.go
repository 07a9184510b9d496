package wire

// Comparisons, by their numbers.
var Comparisons = []string{"=", "<>", "<", "<=", ">", ">="}

// Expressions, by their numbers.
var Expressions = []string{"column", "count", "count_of", "sum", "min", "max", "avg", "rank", "distance"}

// Condition is a condition over positions of columns and stored values. Tag is its number on the wire.
type Condition struct {
	Tag        uint8
	Place      int
	Comparison uint8
	// Right is the other column of a comparison of two.
	Right  int
	Text   string
	Escape string
	Values []any
	Parts  []Condition
	// Table is the number of the other table of InQuery, and Right its column; Other is what the number is found by.
	// Its condition is the only one of Parts, if there is one.
	Table uint32
	Other any
}

// The tags of conditions.
const (
	Compare uint8 = iota
	CompareColumns
	In
	Like
	StartsWith
	IsNull
	And
	Or
	Not
	LikeEscape
	Contains
	EndsWith
	InQuery
)

// Depth is the maximum depth of a condition.
const Depth = 200

// CheckDepth rejects a condition that is too deep.
func (c *Condition) CheckDepth(depth int) *Error {
	if depth == 0 {
		return Errorf(OutOfRange, "a condition nests deeper than %d", Depth)
	}
	for place := range c.Parts {
		if err := c.Parts[place].CheckDepth(depth - 1); err != nil {
			return err
		}
	}
	return nil
}

// Put appends the condition.
func (c *Condition) Put(w *Writer) {
	w.U8(c.Tag)
	switch c.Tag {
	case And, Or:
		w.U32(uint32(len(c.Parts)))
	case Not:
	default:
		w.U16(uint16(c.Place))
	}
	switch c.Tag {
	case Compare:
		w.U8(c.Comparison)
		w.Value(c.Values[0])
	case CompareColumns:
		w.U8(c.Comparison)
		w.U16(uint16(c.Right))
	case In:
		w.U32(uint32(len(c.Values)))
		for _, value := range c.Values {
			w.Value(value)
		}
	case Like, StartsWith, Contains, EndsWith:
		w.Text(c.Text)
	case LikeEscape:
		w.Text(c.Text)
		w.Text(c.Escape)
	}
	if c.Tag == InQuery {
		w.U32(c.Table)
		w.U16(uint16(c.Right))
		w.Bool(len(c.Parts) > 0)
	}
	for place := range c.Parts {
		c.Parts[place].Put(w)
	}
}

// Assign sets a column, or adds to it.
type Assign struct {
	Place int
	Value any
	Adds  bool
}

// Expr is a column, or an aggregate.
type Expr struct {
	What  uint8
	Place int
}

// Order is a step of an order.
type Order struct {
	Place      int
	Descending bool
}

// Select is a query over one table.
type Select struct {
	Columns   []Expr
	Condition *Condition
	Group     []int
	Order     []Order
	Limit     *uint64
	Offset    uint64
	Lock      *Lock
	Search    *Search
	Nearest   *Nearest
}

// Metrics are how distances are measured, in the order of their numbers.
var Metrics = []string{"cosine", "euclidean", "dot"}

// Nearest is from which vector the distances of a column of vectors are measured.
type Nearest struct {
	Place  int
	Metric uint8
	// To is the stored form of the vector.
	To []byte
}

// Search is what the texts of rows must have.
type Search struct {
	Text string
	// Ranked says that the best rows come first.
	Ranked bool
}

// Locks are how a query locks rows, in the order of their numbers.
var Locks = []string{"wait", "no_wait", "skip_locked", "wait_at_most"}

// Lock is how a query locks rows: an index in Locks, and the milliseconds of the last one.
type Lock struct {
	How    uint8
	Millis uint32
}

// Put appends the query.
func (s *Select) Put(w *Writer) {
	w.U16(uint16(len(s.Columns)))
	for _, expr := range s.Columns {
		w.U8(expr.What)
		w.U16(uint16(expr.Place))
	}
	w.Bool(s.Condition != nil)
	if s.Condition != nil {
		s.Condition.Put(w)
	}
	w.Places(s.Group)
	w.U16(uint16(len(s.Order)))
	for _, step := range s.Order {
		w.U16(uint16(step.Place))
		w.Bool(step.Descending)
	}
	w.Bool(s.Limit != nil)
	if s.Limit != nil {
		w.U64(*s.Limit)
	}
	w.U64(s.Offset)
}
