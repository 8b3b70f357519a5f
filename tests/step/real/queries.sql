create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200) insert into t select i, 'row ' || i, i * 1.5 from n;
create index tb on t(b);
select b, sum(c), group_concat(a) from t where b like '%1%' group by b order by c desc limit 5;
select count(*), avg(c), printf('%08.3f|%s', c, b) from t group by a % 7;
update t set b = upper(b) where a % 3 = 0;
delete from t where a > 150;
select json_object('a', a, 'b', b) from t order by random() limit 3;
