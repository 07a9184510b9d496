module bobak.test/sqinn

go 1.23

require github.com/cvilsmeier/sqinn-go/v2 v2.1.3
