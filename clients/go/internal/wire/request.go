package wire

// Verbs, by their numbers.
var Verbs = []string{
	"insert", "insert_or_ignore", "insert_or_replace", "upsert", "update", "delete",
	"upsert_on",
}

// Numbers of verbs.
const (
	Insert uint8 = iota
	InsertOrIgnore
	InsertOrReplace
	Upsert
	Update
	Delete
	// UpsertOn is an upsert on a unique index: its set is the index's columns, then those that it sets.
	UpsertOn
)

// Steps of a transaction, by their numbers.
var Steps = []string{"begin", "commit", "rollback", "savepoint", "release", "roll_back_to"}

// Numbers of steps.
const (
	Begin uint8 = iota
	Commit
	Rollback
	Savepoint
	Release
	RollbackTo
)

// Credentials are a token, a user and a password, or nothing.
type Credentials struct{ Token, User, Password string }

// PutHello appends the first request of a connection.
func PutHello(w *Writer, versions [2]uint16, database, client string, shown Credentials) {
	w.Out = append(w.Out, "BOBK"...)
	w.U16(versions[0])
	w.U16(versions[1])
	w.Text(database)
	w.Text(client)
	switch {
	case shown.Token != "":
		w.U8(1)
		w.Text(shown.Token)
	case shown.User != "":
		w.U8(2)
		w.Text(shown.User)
		w.Text(shown.Password)
	default:
		w.U8(0)
	}
}

// PutControl appends a step of a transaction, with a name for savepoints.
func PutControl(w *Writer, step uint8, name string) {
	w.U8(step)
	if step >= Savepoint {
		w.Text(name)
	}
}

// Set is the columns that an update or upsert sets, encoded.
type Set []byte

// SetOf returns a set of columns.
func SetOf(places []int) Set {
	var words [4]uint64
	count := 0
	for _, place := range places {
		words[place/64] |= 1 << (place % 64)
		if place/64 >= count {
			count = place/64 + 1
		}
	}
	w := Writer{}
	w.U8(uint8(count))
	for _, word := range words[:count] {
		w.U64(word)
	}
	return w.Out
}

// PutRun appends what precedes the row of a write, or the rows of a run of a batch.
func PutRun(w *Writer, table uint32, verb uint8, sets Set) {
	w.U32(table)
	w.U8(verb)
	w.Out = append(w.Out, sets...)
}

// PutChange appends a change of the rows that match a condition; without assignments a delete.
func PutChange(w *Writer, table uint32, condition *Condition, assigns []Assign) {
	w.U32(table)
	w.Bool(condition != nil)
	if condition != nil {
		condition.Put(w)
	}
	w.Bool(assigns != nil)
	if assigns == nil {
		return
	}
	w.U16(uint16(len(assigns)))
	for _, assign := range assigns {
		w.Bool(assign.Adds)
		w.U16(uint16(assign.Place))
		w.Value(assign.Value)
	}
}

// PutSelect appends a query as a source.
func PutSelect(w *Writer, table uint32, query *Select) {
	switch {
	case query.Nearest != nil:
		w.U8(5)
	case query.Search != nil:
		w.U8(4)
	case query.Lock != nil:
		w.U8(3)
	default:
		w.U8(0)
	}
	w.U32(table)
	query.Put(w)
	if near := query.Nearest; near != nil {
		w.U16(uint16(near.Place))
		w.U8(near.Metric)
		w.U16(uint16(len(near.To) / 4))
		w.Out = append(w.Out, near.To...)
		return
	}
	if query.Search != nil {
		w.Text(query.Search.Text)
		w.Bool(query.Search.Ranked)
		w.Bool(query.Lock != nil)
	}
	if query.Lock != nil {
		w.U8(query.Lock.How)
		if query.Lock.How == 3 {
			w.U32(query.Lock.Millis)
		}
	}
}

// PutSQL appends an SQL text as a source.
func PutSQL(w *Writer, text string, parameters []Parameter) {
	w.U8(1)
	w.Text(text)
	putParameters(w, parameters)
}

// PutStatement appends the number of an SQL text as a source.
func PutStatement(w *Writer, number uint32, parameters []Parameter) {
	w.U8(2)
	w.U32(number)
	putParameters(w, parameters)
}

// Parameter is a parameter of an SQL text: a stored value, and its type.
type Parameter struct {
	Value any
	Type  Type
}

func putParameters(w *Writer, parameters []Parameter) {
	values := make([]any, len(parameters))
	for place, parameter := range parameters {
		values[place] = parameter.Value
	}
	w.Out = AppendRow(w.Out, values)
	for _, parameter := range parameters {
		w.U8(uint8(parameter.Type))
	}
}

// Kinds of schema changes.
const (
	CreateTable uint8 = iota
	AddColumn
	AddIndex
	Track
	Untrack
)

// PutSchemaChange appends one change of an Alter. If place is 1, the log of a tracked table gets an index
// over the key.
func PutSchemaChange(w *Writer, what uint8, place int, table *Table) {
	w.U8(what)
	w.U16(uint16(place))
	w.Out = append(w.Out, table.Describe()...)
}
