package bobak

import (
	"context"
	"strings"

	"github.com/bobak-db/bobak/clients/go/internal/wire"
)

// explains is the capability of servers that return plans.
const explains = 1 << 24

// QueryPlan is how the engine would run a query, without running it. As text it has a line for each step and
// advice.
type QueryPlan struct {
	Steps []PlanStep
	// Advice has the indexes that would help; none if the query reads by an index, or needs all rows.
	Advice []IndexAdvice
}

// PlanStep is a step of a plan.
type PlanStep struct {
	// Text is what the engine says about the step.
	Text string
	// Depth is how deep it is in the tree of steps: a step belongs to the last one before it that is higher.
	Depth int
	// Table is the table that it reads, or empty.
	Table string
	// Access is "scan" if it reads all rows of the table, "search" if it reads those that it needs, or empty.
	Access string
	// Index is the index that it uses, if the engine names it.
	Index string
	// Rows is how many rows the engine expects, or -1.
	Rows int64
}

// IndexAdvice is an index that would help a query.
type IndexAdvice struct {
	// Message is the sentence.
	Message string
	Table   string
	// Columns are those of the index, in its order.
	Columns []string
}

// String returns a line for each step and advice.
func (p *QueryPlan) String() string {
	var text strings.Builder
	for _, step := range p.Steps {
		text.WriteString(strings.Repeat("  ", step.Depth) + step.Text + "\n")
	}
	for _, advice := range p.Advice {
		text.WriteString("advice: " + advice.Message + "\n")
	}
	return text.String()
}

// Explain returns how the engine would read the rows, and the indexes that would help. The error is Unsupported
// if the engine has no plans.
func (q *Query[T]) Explain(ctx context.Context) (*QueryPlan, error) {
	source, err := q.source(nil, nil)
	if err != nil {
		return nil, err
	}
	return explain(ctx, q.table.session, source)
}

// Explain returns how the engine would run an SQL statement, and the indexes that would help. The error is
// Unsupported if the engine has no plans.
func Explain(ctx context.Context, in Session, text string, arguments ...any) (*QueryPlan, error) {
	text, stored, err := bindAny(text, arguments)
	if err != nil {
		return nil, err
	}
	return explain(ctx, in, func(c *conn) (func(*wire.Writer), error) { return c.sql(text, stored) })
}

func explain(ctx context.Context, in Session, source asks) (plan *QueryPlan, err error) {
	err = in.run(ctx, false, func(c *conn) error {
		if err := c.has(explains, "plans"); err != nil {
			return err
		}
		put, err := source(c)
		if err != nil {
			return err
		}
		body, err := c.ask(wire.Explain, wire.Rows, put)
		if err != nil {
			return err
		}
		plan, err = readPlan(body)
		return err
	})
	return plan, err
}

func readPlan(body []byte) (*QueryPlan, error) {
	plan := &QueryPlan{}
	for len(body) > 0 {
		row, rest, err := wire.NextRow(body)
		if err != nil {
			return nil, err
		}
		body = rest
		text := func(place int) string {
			found, _ := row.Value(place).(string)
			return found
		}
		switch {
		case row.Len() >= 7 && row.Tag(0) == wire.Int:
			step := PlanStep{text(1), int(row.Int(0)), text(2), "", text(5), -1}
			if row.Tag(4) == wire.Int {
				step.Access = map[int64]string{0: "scan", 1: "search"}[row.Int(4)]
			}
			if row.Tag(6) == wire.Int {
				step.Rows = row.Int(6)
			}
			plan.Steps = append(plan.Steps, step)
		case row.Len() >= 2 && row.Tag(0) == wire.Text:
			advice := IndexAdvice{Message: text(1), Table: text(0)}
			for place := 2; place < row.Len(); place++ {
				advice.Columns = append(advice.Columns, text(place))
			}
			plan.Advice = append(plan.Advice, advice)
		default:
			return nil, wire.Garbled("a row of a plan is neither a step nor an advice")
		}
	}
	return plan, nil
}
