module github.com/bobak-db/bobak/clients/go

go 1.19
